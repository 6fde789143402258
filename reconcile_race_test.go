// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

func (d *inDoubt) resolve(res deed.Resolution) {
	d.t.Helper()
	res.Reason = "looked myself"
	if _, err := d.rt.Resolve(context.Background(), operator, d.id, res); err != nil {
		d.t.Fatal(err)
	}
}

func TestAVerdictThatCameTooLateIsEvidenceOnly(t *testing.T) {
	for _, c := range []struct {
		name      string
		meanwhile func(*inDoubt)
		status    deed.Status
		reason    deed.Reason
	}{
		{"a person committed it", func(d *inDoubt) {
			d.resolve(deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"re_p"}})
		}, deed.StatusCommitted, ""},
		{"a person said no", func(d *inDoubt) { d.resolve(deed.Resolution{Outcome: deed.ResolveNotApplied}) }, deed.StatusFailed, deed.ReasonResolved},
		{"a person abandoned it", func(d *inDoubt) { d.resolve(deed.Resolution{Outcome: deed.ResolveAbandon}) }, deed.StatusUncertain, deed.ReasonAbandoned},
		{"its own refusal came", func(d *inDoubt) { d.settle(d.rt, d.grant, deed.Outcome{Kind: deed.OutcomeRefused, Final: true}) }, deed.StatusFailed, deed.ReasonRefused},
		{"its own success came", func(d *inDoubt) { d.settle(d.rt, d.grant, success("re_7")) }, deed.StatusCommitted, ""},
		{"a person permitted another attempt and it runs", func(d *inDoubt) {
			d.resolve(deed.Resolution{Outcome: deed.ResolveNotApplied})
			d.clock.Advance(time.Second)
			if _, grant := d.claim(d.rt, refund("12")); grant == nil {
				d.t.Error("not begun")
			}
		}, deed.StatusExecuting, ""},
	} {
		for _, verdict := range []deed.VerdictKind{deed.VerdictAbsent, deed.VerdictMany, deed.VerdictUndetermined} {
			t.Run(c.name+", "+string(verdict), func(t *testing.T) {
				d := newInDoubt(t, nil)
				d.clock.Advance(time.Hour)
				d.answer = nothing
				d.look() // one miss that counts
				d.clock.Advance(2 * time.Minute)
				d.answer = deed.Verdict{Kind: verdict, Complete: true}
				if verdict == deed.VerdictMany {
					d.answer = d.found("re_1", "re_2")
				}
				d.during = func() { c.meanwhile(d) }
				if f := d.look(); !f.Stale {
					t.Error("it was taken for current")
				}
				d.wantStatus(c.status, c.reason)
				if op := d.op(); op.Contradicted || op.Diverged {
					t.Error("evidence flagged it")
				}
			})
		}
	}
}

func success(id string) deed.Outcome {
	return deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: id}, Result: []byte(`{}`)}
}

func TestWhatWasFoundTooLateIsLookedUpAgain(t *testing.T) {
	d := newInDoubt(t, nil)
	d.answer = d.found("re_7")
	d.during = func() { d.resolve(deed.Resolution{Outcome: deed.ResolveNotApplied, Force: true}) }
	f := d.look()
	if f.Stale || f.Counted != deed.VerdictFound {
		t.Errorf("%+v", f)
	}
	d.wantStatus(deed.StatusCommitted, "")
	if op := d.op(); !op.Contradicted || len(d.asked) != 2 {
		t.Errorf("contradicted %v after %d look-ups", op.Contradicted, len(d.asked))
	}
}

func TestWhatWasFoundWhileTheNextAttemptRunsIsItsCommit(t *testing.T) {
	d := newInDoubt(t, nil)
	d.answer = d.found("re_7")
	var second *deed.Grant
	d.during = func() {
		d.resolve(deed.Resolution{Outcome: deed.ResolveNotApplied, Force: true})
		d.clock.Advance(time.Second)
		_, second = d.claim(d.rt, refund("12"))
	}
	if f := d.look(); f.Stale || f.Counted != deed.VerdictFound || second == nil {
		t.Fatalf("%+v", f)
	}
	d.wantStatus(deed.StatusExecuting, "")
	d.settle(d.rt, second, deed.Outcome{Kind: deed.OutcomeRefused, Final: true})
	d.wantStatus(deed.StatusCommitted, "")
	if op := d.op(); len(op.Receipts) != 1 || op.Receipts[0].RemoteID != "re_7" || op.Receipts[0].Attempt != 1 {
		t.Errorf("receipts %+v", op.Receipts)
	}
}

func TestALateProofAgainstAPersonsNoWins(t *testing.T) {
	for name, prove := range map[string]func(*inDoubt){
		"a webhook": func(d *inDoubt) {
			_, err := d.rt.Prove(context.Background(), deed.Proof{Tenant: "acme", Marker: d.grant.Marks.Marker, RemoteID: "re_7", EstablishedBy: deed.ByWebhook})
			if err != nil {
				d.t.Error(err)
			}
		},
		"its own reply": func(d *inDoubt) { d.settle(d.rt, d.grant, success("re_7")) },
	} {
		for _, res := range []deed.ResolutionOutcome{deed.ResolveNotApplied, deed.ResolveAbandon} {
			t.Run(name+" after "+string(res), func(t *testing.T) {
				d := newInDoubt(t, nil)
				d.resolve(deed.Resolution{Outcome: res})
				prove(d)
				d.wantStatus(deed.StatusCommitted, "")
				if !d.op().Contradicted {
					t.Error("nobody is told that the decision was wrong")
				}
				d.want(d.do(refund("12")), deed.Replay, replayed(d.op()), 0)
			})
		}
	}
}

func replayed(op *deed.Operation) deed.Reason {
	if len(op.Result) == 0 {
		return deed.ReasonResultDiscarded
	}
	return deed.ReasonStored
}

func TestALateProofAgainstAnAbsenceWins(t *testing.T) {
	d := newInDoubt(t, nil)
	d.answer = nothing
	d.clock.Advance(time.Hour)
	d.look()
	d.clock.Advance(2 * time.Minute)
	if f := d.look(); f.Counted != deed.VerdictAbsent {
		t.Fatalf("%s %s", f.Counted, f.Why)
	}
	d.settle(d.rt, d.grant, success("re_7"))
	d.wantStatus(deed.StatusCommitted, "")
	if !d.op().Contradicted {
		t.Error("an absence that was wrong goes unnoticed")
	}
}

func TestTwoProcessesMakeOneLookUp(t *testing.T) {
	d := newInDoubt(t, nil)
	other := d.start(d.clock)
	due := deed.Due{Tenant: "acme", Operation: d.id}
	d.answer = d.found("re_7")
	d.during = func() {
		if _, err := other.ReconcileDue(context.Background(), due); !errors.Is(err, deed.ErrLookedUp) {
			t.Errorf("a worker beside the look-up: %v", err)
		}
		if _, err := other.Reconcile(context.Background(), operator, d.id); !errors.Is(err, deed.ErrLookedUp) {
			t.Errorf("a person beside the look-up: %v", err)
		}
		if list, _ := other.Due(context.Background(), 10); len(list) != 0 {
			t.Error("it is listed as due while it is looked up")
		}
	}
	if _, err := d.rt.ReconcileDue(context.Background(), due); err != nil {
		t.Fatal(err)
	}
	if len(d.asked) != 1 {
		t.Errorf("%d look-ups", len(d.asked))
	}
}

func TestALookUpWhoseProcessDiedIsTakenOver(t *testing.T) {
	d := newInDoubt(t, nil)
	other := d.start(d.clock)
	d.answer = d.found("re_7")
	d.during = func() {
		d.clock.Advance(time.Minute) // the lease runs out while it hangs
		if f, err := other.Reconcile(context.Background(), operator, d.id); err != nil || f.Counted != deed.VerdictFound {
			t.Errorf("%v %s", err, f.Counted)
		}
	}
	if f := d.look(); !f.Stale {
		t.Error("the first look-up counted a second time")
	}
	if op := d.op(); op.Status != deed.StatusCommitted || len(op.Receipts) != 1 || op.Diverged {
		t.Errorf("%s with %d receipts, diverged %v", op.Status, len(op.Receipts), op.Diverged)
	}
}

func TestLookUpsBackOffAndEndInTheQueueOfAPerson(t *testing.T) {
	d := newInDoubt(t, nil)
	d.answer = deed.Verdict{Kind: deed.VerdictUndetermined, Strategy: "search"}
	ctx := context.Background()
	var pauses []time.Duration
	last := d.clock.Now()
	for range 20_000 {
		due, err := d.rt.Due(ctx, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(due) == 0 {
			if p := d.op().Current().Probing; p != nil && !p.GaveUpAt.IsZero() {
				break
			}
			d.clock.Advance(time.Second)
			continue
		}
		if _, err := d.rt.ReconcileDue(ctx, due[0]); err != nil {
			t.Fatal(err)
		}
		pauses = append(pauses, d.clock.Now().Sub(last))
		last = d.clock.Now()
		if _, err := d.rt.ReconcileDue(ctx, due[0]); !errors.Is(err, deed.ErrLookedUp) {
			t.Fatalf("looked up again at once: %v", err)
		}
		d.clock.Advance(time.Second)
		if len(pauses) > 3 {
			d.clock.Advance(4 * time.Minute)
		}
	}
	p := d.op().Current().Probing
	if p == nil || p.GaveUpAt.IsZero() || p.GaveUpAt.Sub(noon) < time.Hour {
		t.Fatalf("not given up after an hour: %+v", p)
	}
	if len(pauses) < 5 || len(pauses) > 40 || pauses[1] > 15*time.Second {
		t.Errorf("%d look-ups in an hour: %v", len(pauses), pauses)
	}
	waiting, err := d.rt.Waiting(ctx, operator, deed.Query{})
	if err != nil || len(waiting.Operations) != 1 || waiting.Operations[0].ID != d.id {
		t.Errorf("the queue of a person: %v %+v", err, waiting)
	}
	events, _ := d.rt.Events(ctx, operator, d.id)
	if last := events[len(events)-1]; last.Name != deed.EventGaveUp {
		t.Errorf("the last event is %s", last.Name)
	}
	d.look()
	gaveUp := 0
	events, _ = d.rt.Events(ctx, operator, d.id)
	for _, event := range events {
		if event.Name == deed.EventGaveUp {
			gaveUp++
		}
	}
	if gaveUp != 1 {
		t.Errorf("it was given up %d times", gaveUp)
	}
	d.answer = d.found("re_7")
	if f := d.look(); f.Counted != deed.VerdictFound {
		t.Error("what was given up cannot be looked up when asked")
	}
}

func TestNothingIsLookedUpWhereNothingIsInDoubt(t *testing.T) {
	for name, settle := range map[string]func(*inDoubt){
		"executing": func(*inDoubt) {},
		"committed": func(d *inDoubt) { d.settle(d.rt, d.grant, success("re_1")) },
		"refused":   func(d *inDoubt) { d.settle(d.rt, d.grant, deed.Outcome{Kind: deed.OutcomeRefused, Final: true}) },
		"not sent":  func(d *inDoubt) { d.settle(d.rt, d.grant, deed.Outcome{Kind: deed.OutcomeUnsent}) },
		"abandoned": func(d *inDoubt) {
			d.settle(d.rt, d.grant, deed.Outcome{Kind: deed.OutcomeUnknown})
			d.resolve(deed.Resolution{Outcome: deed.ResolveAbandon})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := unsent(t, nil)
			_, d.grant = d.claim(d.rt, refund("12"))
			d.id = d.grant.Operation
			settle(d)
			var refused *deed.RefusedError
			if _, err := d.rt.Reconcile(context.Background(), operator, d.id); !errors.As(err, &refused) {
				t.Errorf("%v", err)
			}
			if due, _ := d.rt.Due(context.Background(), 10); len(due) != 0 || len(d.asked) != 0 {
				t.Error("it is looked up")
			}
		})
	}
}

func TestALostLeaseIsLookedUpToo(t *testing.T) {
	d := unsent(t, nil)
	call := refund("12")
	call.ManualLease = true
	_, d.grant = d.claim(d.rt, call)
	d.id = d.grant.Operation
	d.clock.Advance(time.Minute)
	due, err := d.rt.Due(context.Background(), 10)
	if err != nil || len(due) != 1 {
		t.Fatalf("%v %v", err, due)
	}
	d.answer = d.found("re_7")
	if f, err := d.rt.ReconcileDue(context.Background(), due[0]); err != nil || f.Operation.Status != deed.StatusCommitted {
		t.Errorf("%v %+v", err, f)
	}
}

func TestAQuestionIsLookedUpOnlyWhenAskedAndOnlyAFindCounts(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(*inDoubt) deed.Verdict
		status deed.Status
	}{
		{"found", func(d *inDoubt) deed.Verdict { return d.found("re_7") }, deed.StatusCommitted},
		{"absent", func(*inDoubt) deed.Verdict { return nothing }, deed.StatusAwaitingInput},
		{"many", func(d *inDoubt) deed.Verdict { return d.found("re_1", "re_2") }, deed.StatusAwaitingInput},
		{"undetermined", func(*inDoubt) deed.Verdict { return deed.Verdict{} }, deed.StatusAwaitingInput},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := unsent(t, func(r *deed.Rule) { r.InputExpires = 24 * time.Hour })
			_, d.grant = d.claim(d.rt, refund("12"))
			d.id = d.grant.Operation
			d.settle(d.rt, d.grant, deed.Outcome{Kind: deed.OutcomeInputRequired, RequestState: []byte("s"), Result: []byte(`{}`)})
			d.answer = c.answer(d)
			for range 3 {
				d.clock.Advance(time.Hour)
				if due, _ := d.rt.Due(context.Background(), 10); len(due) != 0 {
					t.Fatal("a question is looked up by itself")
				}
				if d.op().Status == deed.StatusAwaitingInput {
					d.look()
				}
			}
			if got := d.op().Status; got != c.status {
				t.Errorf("%s, want %s", got, c.status)
			}
		})
	}
}
