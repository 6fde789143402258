// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/storetest"
)

func TestTwoLedgersOnOneDatabase(t *testing.T) {
	storetest.RunTogether(t, func(t *testing.T) []deed.Store {
		address := cluster.Schema(t)
		options := postgres.Options{Patience: time.Minute}
		return []deed.Store{open(t, address, options), open(t, address, options)}
	})
}
