// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

// otherClock is a process whose clock differs from the ledger's.
func otherClock(t *testing.T, ahead time.Duration) (d *inDoubt, ledger *storetest.Clock) {
	t.Helper()
	ledger = storetest.NewClock(noon)
	own := storetest.NewClock(noon.Add(ahead))
	d = &inDoubt{rig: &rig{t: t, clock: own, store: storetest.NewMemory(ledger), rule: deed.DefaultRule("pay/refund")}}
	d.rule.Planting, d.rule.GiveUp = &deed.Planting{Plant: plantMark}, time.Hour
	d.rt = d.start(own)
	return d, ledger
}

func TestAProcessWhoseClockIsAheadRemovesNothingTooEarly(t *testing.T) {
	d, ledger := otherClock(t, 0)
	d.do(refund("12"))
	d.clock.Advance(365 * 24 * time.Hour)
	if n, err := d.rt.Trim(context.Background()); err != nil || n != 0 {
		t.Errorf("%d were trimmed, %v", n, err)
	}
	d.want(d.do(refund("12")), deed.Replay, deed.ReasonStored, 1)
	ledger.Advance(365 * 24 * time.Hour)
	if n, err := d.rt.Trim(context.Background()); err != nil || n != 1 {
		t.Errorf("%d were trimmed after their time, %v", n, err)
	}
}

func TestAProcessWhoseClockIsBehindRecoversAndLooksUpInTime(t *testing.T) {
	d, ledger := otherClock(t, -6*time.Hour)
	call := refund("12")
	call.ManualLease = true
	_, grant := d.claim(d.rt, call)
	d.id = grant.Operation
	ledger.Advance(time.Minute)
	if n, err := d.rt.Recover(context.Background()); err != nil || n != 1 {
		t.Errorf("%d recovered, %v", n, err)
	}
	if due, err := d.rt.Due(context.Background(), 10); err != nil || len(due) != 1 {
		t.Errorf("due: %v, %v", due, err)
	}
}
