// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

// asking is a Reconciler made of a function.
type asking func(ctx context.Context, q deed.Inquest) (deed.Verdict, error)

func (f asking) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) { return f(ctx, q) }

// inDoubt is a Runtime with one operation of which nobody knows.
type inDoubt struct {
	*rig
	answer deed.Verdict
	err    error
	asked  []deed.Inquest
	// during happens while the look-up is under way.
	during func()
	mu     sync.Mutex
	id     deed.OperationID
	grant  *deed.Grant
}

// plantMark appends the marker to a text of the arguments.
func plantMark(arguments []byte, marks deed.Marks) ([]byte, error) {
	if !bytes.HasPrefix(arguments, []byte(`{`)) {
		return nil, errors.New("no object")
	}
	return append([]byte(`{"mark":"`+marks.Marker+`",`), arguments[1:]...), nil
}

func newInDoubt(t *testing.T, change func(*deed.Rule)) *inDoubt {
	t.Helper()
	d := unsent(t, change)
	answer, grant := d.claim(d.rt, refund("12"))
	if grant == nil {
		t.Fatalf("not begun: %s(%s) %s", answer.Decision, answer.Reason, answer.Text)
	}
	d.id, d.grant = grant.Operation, grant
	d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown, Message: "the connection broke"})
	return d
}

func unsent(t *testing.T, change func(*deed.Rule)) *inDoubt {
	t.Helper()
	clock := storetest.NewClock(noon)
	d := &inDoubt{rig: &rig{t: t, clock: clock, store: storetest.NewMemory(clock), rule: deed.DefaultRule("pay/refund")}}
	d.rule.Planting = &deed.Planting{Plant: plantMark}
	d.rule.GiveUp, d.rule.ReadLag, d.rule.MaxProcessing = time.Hour, time.Minute, 2*time.Minute
	if change != nil {
		change(&d.rule)
	}
	d.rt = d.start(d.clock)
	return d
}

// start begins another process over the ledger, with a clock of its own.
func (d *inDoubt) start(clock deed.Clock) *deed.Runtime {
	d.t.Helper()
	rt, err := deed.New(deed.Options{
		Store: d.store, Clock: clock, Policy: deed.FixedPolicy{"pay/refund": d.rule},
		Reconciler: asking(func(_ context.Context, q deed.Inquest) (deed.Verdict, error) {
			d.mu.Lock()
			d.asked = append(d.asked, q)
			during := d.during
			d.during = nil
			v, err := d.answer, d.err
			d.mu.Unlock()
			if during != nil {
				during()
			}
			return v, err
		}),
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			d.t.Error(err)
		}
	})
	return rt
}

func (d *inDoubt) look() deed.Finding {
	d.t.Helper()
	finding, err := d.rt.Reconcile(context.Background(), operator, d.id)
	if err != nil {
		d.t.Fatal(err)
	}
	return finding
}

func (d *inDoubt) op() *deed.Operation {
	d.t.Helper()
	op, err := d.rt.Get(context.Background(), operator, d.id)
	if err != nil {
		d.t.Fatal(err)
	}
	return op
}

// found is the answer of a provider that has it.
func (d *inDoubt) found(ids ...string) deed.Verdict {
	v := deed.Verdict{Kind: deed.VerdictFound, Strategy: "marker-list", Complete: true, Evidence: "1 page"}
	for _, id := range ids {
		v.Matches = append(v.Matches, deed.Match{RemoteID: id, URL: "https://pay.example/" + id, Token: d.grant.Marks.Marker})
	}
	return v
}

var nothing = deed.Verdict{Kind: deed.VerdictAbsent, Strategy: "marker-list", Complete: true}

func (d *inDoubt) wantStatus(status deed.Status, reason deed.Reason) {
	d.t.Helper()
	if op := d.op(); op.Status != status || op.Reason != reason {
		d.t.Errorf("%s(%s), want %s(%s)", op.Status, op.Reason, status, reason)
	}
}

func TestWhatIsFoundIsCommittedAndReplayed(t *testing.T) {
	d := newInDoubt(t, nil)
	d.answer = d.found("re_7")
	d.answer.Matches[0].Result = []byte(`{"id":"re_7","note":"already done"}`)
	finding := d.look()
	if finding.Counted != deed.VerdictFound || finding.Operation.Status != deed.StatusCommitted {
		t.Fatalf("%s: %s", finding.Counted, finding.Why)
	}
	receipt := d.op().Receipt()
	if receipt.RemoteID != "re_7" || receipt.EstablishedBy != "reconcile:marker-list" || receipt.Established != deed.EstablishedFound || receipt.RemoteURL == "" {
		t.Errorf("receipt %+v", receipt)
	}
	again := d.do(refund("12"))
	d.want(again, deed.Replay, deed.ReasonStored, 0)
	if string(again.Result) != `{"id":"re_7","note":"already done"}` {
		t.Errorf("replayed %s", again.Result)
	}
	q := d.asked[0]
	if q.Attempt.Number != 1 || q.Marks.Marker != d.grant.Marks.Marker || len(q.Operation.Arguments) == 0 || !q.SendBy.Equal(d.grant.SendBy) || !q.SentAt.Equal(noon) {
		t.Errorf("the look-up was told %+v", q)
	}
}

func TestWhatIsFoundWithoutAResultReplaysTheReceipt(t *testing.T) {
	d := newInDoubt(t, nil)
	d.answer = d.found("re_7")
	d.look()
	d.want(d.do(refund("12")), deed.Replay, deed.ReasonResultDiscarded, 0)
}

func TestAnErrorThatWasNoneIsNotReplayed(t *testing.T) {
	d := unsent(t, nil)
	_, grant := d.claim(d.rt, refund("12"))
	d.id, d.grant = grant.Operation, grant
	d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonToolError, Result: []byte(`{"isError":true}`), ResultIsError: true})
	d.wantStatus(deed.StatusUncertain, deed.ReasonToolError)
	d.answer = d.found("re_7")
	d.look()
	answer := d.do(refund("12"))
	d.want(answer, deed.Replay, deed.ReasonResultDiscarded, 0)
	if len(answer.Result) > 0 || answer.Operation.ResultIsError {
		t.Errorf("replayed the error %s", answer.Result)
	}
}

func TestManyAreAPersonsToSortOut(t *testing.T) {
	d := newInDoubt(t, nil)
	d.answer = d.found("re_1", "re_2")
	if finding := d.look(); finding.Counted != deed.VerdictMany {
		t.Fatalf("%s", finding.Counted)
	}
	d.wantStatus(deed.StatusUncertain, deed.ReasonFoundMany)
	if due, _ := d.rt.Due(context.Background(), 10); len(due) != 0 {
		t.Error("what was found twice is looked up again by itself")
	}
	if !d.rt.NeedsPerson(d.op(), d.clock.Now()) {
		t.Error("it is not in the queue of a person")
	}
	var refused *deed.RefusedError
	_, err := d.rt.Resolve(context.Background(), operator, d.id, deed.Resolution{Outcome: deed.ResolveNotApplied, Reason: "no"})
	if !errors.As(err, &refused) {
		t.Errorf("not applied after found many: %v", err)
	}
	op, err := d.rt.Resolve(context.Background(), operator, d.id, deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"re_1", "re_2"}, Reason: "both seen"})
	if err != nil || len(op.Receipts) != 2 {
		t.Errorf("%v: %d receipts", err, len(op.Receipts))
	}
}

func TestAbsenceCountsBehindItsGateOnly(t *testing.T) {
	d := newInDoubt(t, nil)
	d.answer = nothing
	early := d.look()
	if early.Counted != deed.VerdictUndetermined || early.Why == "" {
		t.Fatalf("%s %q", early.Counted, early.Why)
	}
	d.clock.Advance(209 * time.Second)
	d.look()
	d.wantStatus(deed.StatusUncertain, deed.ReasonOutcomeUnknown)
	d.clock.Advance(2 * time.Second)
	if first := d.look(); first.Counted != deed.VerdictUndetermined {
		t.Fatal("one look behind the gate was enough")
	}
	d.clock.Advance(30 * time.Second)
	if close := d.look(); close.Counted != deed.VerdictUndetermined {
		t.Fatal("two looks closer than the lag were enough")
	}
	d.clock.Advance(31 * time.Second)
	if second := d.look(); second.Counted != deed.VerdictAbsent {
		t.Fatalf("%s: %s", second.Counted, second.Why)
	}
	op := d.op()
	if op.Status != deed.StatusFailed || op.Reason != deed.ReasonAbsent || !op.Retryable || op.DecidedBy != "reconcile:marker-list" {
		t.Errorf("%s(%s) retryable %v by %q", op.Status, op.Reason, op.Retryable, op.DecidedBy)
	}
	if op.Attempts[0].Cleared {
		t.Error("an absence cleared the attempt")
	}
	d.clock.Advance(time.Second)
	_, grant := d.claim(d.rt, refund("12"))
	if grant == nil {
		t.Fatal("the permitted attempt does not begin")
	}
	d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeRefused, Final: true})
	d.wantStatus(deed.StatusUncertain, deed.ReasonOutcomeUnknown)
}

func TestAbsenceWithoutADeclaredProcessingTimeNeverCounts(t *testing.T) {
	d := newInDoubt(t, func(r *deed.Rule) { r.MaxProcessing = 0 })
	d.answer = nothing
	for range 5 {
		d.clock.Advance(24 * time.Hour)
		if f := d.look(); f.Counted != deed.VerdictUndetermined {
			t.Fatal("absence counted")
		}
	}
	d.wantStatus(deed.StatusUncertain, deed.ReasonOutcomeUnknown)
}

func TestAbsenceIsMeasuredByTheObserversOwnClockToo(t *testing.T) {
	d := newInDoubt(t, nil)
	d.answer = nothing
	own := storetest.NewClock(noon)
	rt := d.start(own)
	d.clock.Advance(24 * time.Hour) // the ledger's clock alone
	for range 3 {
		d.clock.Advance(2 * time.Minute)
		f, err := rt.Reconcile(context.Background(), operator, d.id)
		if err != nil || f.Counted != deed.VerdictUndetermined {
			t.Fatalf("%v %s", err, f.Counted)
		}
	}
	own.Advance(210 * time.Second)
	for i, want := range []deed.VerdictKind{deed.VerdictUndetermined, deed.VerdictAbsent} {
		d.clock.Advance(2 * time.Minute)
		if f, err := rt.Reconcile(context.Background(), operator, d.id); err != nil || f.Counted != want {
			t.Errorf("look %d: %v %s, want %s", i, err, f.Counted, want)
		}
	}
}

func TestAProbeThatFailsTellsNothing(t *testing.T) {
	for name, change := range map[string]func(*inDoubt){
		"an error":                      func(d *inDoubt) { d.err = errors.New("502 bad gateway") },
		"an error beside a verdict":     func(d *inDoubt) { d.err, d.answer = errors.New("cut"), nothing },
		"a panic":                       func(d *inDoubt) { d.during = func() { panic("nil map") } },
		"an empty verdict":              func(*inDoubt) {},
		"absent with pages left unread": func(d *inDoubt) { d.answer = deed.Verdict{Kind: deed.VerdictAbsent} },
	} {
		t.Run(name, func(t *testing.T) {
			d := newInDoubt(t, nil)
			d.clock.Advance(time.Hour)
			change(d)
			for range 3 {
				d.clock.Advance(time.Minute)
				if f := d.look(); f.Counted != deed.VerdictUndetermined {
					t.Fatalf("counted as %s", f.Counted)
				}
				change(d)
			}
			d.wantStatus(deed.StatusUncertain, deed.ReasonOutcomeUnknown)
		})
	}
}

func TestEveryLookUpIsInTheHistory(t *testing.T) {
	d := newInDoubt(t, nil)
	d.err = errors.New("502 bad gateway")
	d.look()
	d.err, d.answer = nil, nothing
	d.look()
	d.answer = d.found("re_7")
	d.look()
	events, err := d.rt.Events(context.Background(), operator, d.id)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, event := range events {
		var data struct{ Strategy, Verdict, Counted, Evidence string }
		if json.Unmarshal(event.Data, &data) == nil && data.Strategy != "" {
			seen = append(seen, string(event.Name)+" "+data.Strategy+" "+data.Verdict+" "+data.Counted+" "+data.Evidence)
		}
	}
	want := []string{
		"undetermined look-up undetermined undetermined the look-up failed: 502 bad gateway",
		"undetermined marker-list absent undetermined ",
		"proved marker-list found found 1 page",
	}
	if len(seen) != len(want) {
		t.Fatalf("%q", seen)
	}
	for i := range want {
		if seen[i] != want[i] {
			t.Errorf("%q, want %q", seen[i], want[i])
		}
	}
}

func TestLookingUpTakesTheRightToResolve(t *testing.T) {
	d := newInDoubt(t, nil)
	if _, err := d.rt.Reconcile(context.Background(), agent, d.id); !errors.Is(err, deed.ErrForbidden) {
		t.Errorf("its own actor without the right: %v", err)
	}
	if _, err := d.rt.Reconcile(context.Background(), deed.Principal{Tenant: "acme", Actor: "other", Rights: []deed.Right{deed.RightResolve}}, d.id); !errors.Is(err, deed.ErrNotFound) {
		t.Errorf("who may not read it: %v", err)
	}
	if len(d.asked) != 0 {
		t.Error("something was asked")
	}
}
