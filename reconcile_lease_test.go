// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// leaseDue has a process take all that is due.
func (d *inDoubt) leaseDue(rt *deed.Runtime) []deed.Due {
	d.t.Helper()
	due, err := d.rt.Due(context.Background(), 100)
	if err != nil {
		d.t.Fatal(err)
	}
	taken, err := rt.LeaseDue(context.Background(), due)
	if err != nil {
		d.t.Fatal(err)
	}
	return taken
}

// another makes a second uncertain operation.
func (d *inDoubt) another() {
	d.t.Helper()
	_, grant := d.claim(d.rt, order(13, "13"))
	d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
}

func TestLookUpsAreLeasedTogetherAndByOneProcess(t *testing.T) {
	d := newInDoubt(t, nil)
	d.another()
	other := d.start(d.clock)
	taken := d.leaseDue(d.rt)
	if len(taken) != 2 {
		t.Fatalf("leased %d", len(taken))
	}
	if again := d.leaseDue(other); len(again) != 0 {
		t.Errorf("another process leases %d of them too", len(again))
	}
	if again := d.leaseDue(d.rt); len(again) != 0 {
		t.Errorf("the process itself leases %d again", len(again))
	}
	if _, err := d.rt.Reconcile(context.Background(), operator, d.id); !errors.Is(err, deed.ErrLookedUp) {
		t.Errorf("asked for while it is leased: %v", err)
	}
	for _, one := range taken {
		if one.Operation == d.id {
			d.answer = d.found("re_7")
		} else {
			d.answer = nothing
		}
		if _, err := d.rt.ReconcileDue(context.Background(), one); err != nil {
			t.Fatal(err)
		}
	}
	d.wantStatus(deed.StatusCommitted, "")
	if len(d.asked) != 2 || d.asked[0].Tries != 0 || len(d.asked[0].Operation.Arguments) == 0 {
		t.Errorf("asked %+v", d.asked)
	}
	// What is still uncertain is due again after its pause, for whoever comes
	// first once the lease was given back.
	d.clock.Advance(20 * time.Second)
	if early := d.leaseDue(other); len(early) != 0 {
		t.Errorf("leased %d before the lease was given back", len(early))
	}
	if _, err := d.rt.LeaseDue(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if free := d.leaseDue(other); len(free) != 1 || free[0].Operation == d.id {
		t.Errorf("leased %+v after it", free)
	}
}

func TestTheLeaseOfADeadProcessRunsOut(t *testing.T) {
	d := newInDoubt(t, nil)
	d.answer = d.found("re_7")
	taken := d.leaseDue(d.rt)
	other := d.start(d.clock)
	d.clock.Advance(44 * time.Second)
	if early := d.leaseDue(other); len(early) != 0 {
		t.Error("it is leased twice")
	}
	d.clock.Advance(time.Second)
	late := d.leaseDue(other)
	if len(late) != 1 {
		t.Fatalf("leased %d after the lease ran out", len(late))
	}
	if _, err := d.rt.ReconcileDue(context.Background(), taken[0]); !errors.Is(err, deed.ErrLookedUp) || len(d.asked) != 0 {
		t.Errorf("the first goes on under a lease that ran out: %v", err)
	}
	if _, err := other.ReconcileDue(context.Background(), late[0]); err != nil {
		t.Fatal(err)
	}
	d.wantStatus(deed.StatusCommitted, "")
}

func TestAVerdictCountsOnlyForWhatItExamined(t *testing.T) {
	for _, c := range []struct {
		name string
		// meanwhile happens while the leased look-up is under way.
		meanwhile func(*inDoubt, *deed.Runtime)
		status    deed.Status
		stale     bool
	}{
		{"nothing else happens", func(*inDoubt, *deed.Runtime) {}, deed.StatusUncertain, false},
		{"another process looks too", func(d *inDoubt, other *deed.Runtime) {
			if _, err := other.Reconcile(context.Background(), operator, d.id); err != nil {
				d.t.Error(err)
			}
		}, deed.StatusUncertain, true},
		{"a person decides", func(d *inDoubt, other *deed.Runtime) {
			if _, err := other.Resolve(context.Background(), operator, d.id, deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"re_1"}, Reason: "seen", Force: true}); err != nil {
				d.t.Error(err)
			}
		}, deed.StatusCommitted, true},
		{"its own late answer arrives", func(d *inDoubt, _ *deed.Runtime) {
			d.settle(d.rt, d.grant, deed.Outcome{Kind: deed.OutcomeRefused, Final: true})
		}, deed.StatusFailed, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newInDoubt(t, nil)
			other := d.start(d.clock)
			d.clock.Advance(time.Hour / 2)
			d.answer = nothing
			taken := d.leaseDue(d.rt)
			d.during = func() { c.meanwhile(d, other) }
			finding, err := d.rt.ReconcileDue(context.Background(), taken[0])
			if err != nil || finding.Stale != c.stale {
				t.Errorf("%v, stale %t", err, finding.Stale)
			}
			if got := d.op(); got.Status != c.status {
				t.Errorf("%s, want %s", got.Status, c.status)
			}
		})
	}
}

func TestAFindThatCameTooLateIsNotLost(t *testing.T) {
	d := newInDoubt(t, nil)
	d.answer = d.found("re_7")
	taken := d.leaseDue(d.rt)
	d.during = func() {
		if _, err := d.rt.Resolve(context.Background(), operator, d.id, deed.Resolution{Outcome: deed.ResolveNotApplied, Reason: "not seen", Force: true}); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.rt.ReconcileDue(context.Background(), taken[0]); err != nil {
		t.Fatal(err)
	}
	if op := d.op(); op.Status != deed.StatusCommitted || !op.Contradicted || op.Receipt().RemoteID != "re_7" {
		t.Errorf("%s, contradicted %t", op.Status, op.Contradicted)
	}
}

func TestWhatIsNotWantedAnyMoreIsGivenBack(t *testing.T) {
	d := newInDoubt(t, nil)
	d.another()
	ended, end := context.WithCancel(context.Background())
	end()
	for _, one := range d.leaseDue(d.rt) {
		if _, err := d.rt.ReconcileDue(ended, one); !errors.Is(err, context.Canceled) {
			t.Errorf("ended: %v", err)
		}
	}
	if _, err := d.rt.LeaseDue(context.Background(), nil); err != nil || len(d.asked) != 0 {
		t.Errorf("%v, asked %d", err, len(d.asked))
	}
	if free := d.leaseDue(d.start(d.clock)); len(free) != 2 {
		t.Errorf("another process leases %d", len(free))
	}
}

func TestALostLeaseOfACallIsWrittenBeforeItIsLookedUp(t *testing.T) {
	d := unsent(t, nil)
	call := refund("12")
	call.ManualLease = true
	_, d.grant = d.claim(d.rt, call)
	d.id = d.grant.Operation
	d.clock.Advance(time.Minute)
	d.answer = d.found("re_7")
	taken := d.leaseDue(d.rt)
	if len(taken) != 1 {
		t.Fatalf("leased %d", len(taken))
	}
	if f, err := d.rt.ReconcileDue(context.Background(), taken[0]); err != nil || f.Operation.Status != deed.StatusCommitted {
		t.Errorf("%v %+v", err, f)
	}
}
