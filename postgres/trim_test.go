// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/storetest"
)

// A gateway whose clock is a year ahead of the database's.
func TestRetentionIsMeasuredByTheClockOfTheDatabase(t *testing.T) {
	ledger := open(t, cluster.Schema(t), postgres.Options{})
	rt, err := deed.New(deed.Options{Store: ledger, Clock: storetest.NewClock(time.Now().AddDate(1, 0, 0)), Policy: deed.FixedPolicy{}})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(context.WithoutCancel(t.Context()))
	o := newBenchOperation(1)
	if err := o.transactBoth(t.Context(), ledger); err != nil {
		t.Fatal(err)
	}
	if n, err := rt.Trim(t.Context()); err != nil || n != 0 {
		t.Errorf("%d were trimmed, %v", n, err)
	}
}
