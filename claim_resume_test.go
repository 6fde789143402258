// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

func (d *inDoubt) resume(who deed.Principal) (deed.Answer, *deed.Grant) {
	d.t.Helper()
	call, err := d.rt.CallOf(context.Background(), who, d.id)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.claim(d.rt, call)
}

func TestAnOperatorRunsTheFrozenBytes(t *testing.T) {
	d := unsent(t, nil)
	_, first := d.claim(d.rt, refund("12"))
	d.id = first.Operation
	d.settle(d.rt, first, deed.Outcome{Kind: deed.OutcomeUnsent})
	d.clock.Advance(time.Minute)
	_, grant := d.resume(operator)
	if grant == nil || grant.Operation != d.id || grant.Attempt != 2 || !bytes.Equal(grant.Arguments, first.Arguments) {
		t.Fatalf("%+v", grant)
	}
	d.settle(d.rt, grant, success("re_1"))
	op := d.op()
	if op.Actor != agent.Actor || op.Status != deed.StatusCommitted {
		t.Errorf("%s of %s", op.Status, op.Actor)
	}
	events, _ := d.rt.Events(context.Background(), operator, d.id)
	ran := false
	for _, event := range events {
		ran = ran || event.Name == deed.EventBegun && event.Actor == operator.Actor
	}
	if !ran {
		t.Error("no event names who ran it")
	}
	answer, again := d.resume(operator)
	if again != nil || answer.Decision != deed.Replay {
		t.Errorf("a committed operation: %s(%s)", answer.Decision, answer.Reason)
	}
}

func TestWhatIsUncertainIsNotRunByAnOperatorEither(t *testing.T) {
	d := newInDoubt(t, nil)
	answer, grant := d.resume(operator)
	if grant != nil || answer.Decision != deed.Uncertain {
		t.Errorf("%s(%s)", answer.Decision, answer.Reason)
	}
}

func TestRunningARecordedOperationTakesTheRight(t *testing.T) {
	d := newInDoubt(t, providerKeyed)
	ctx := context.Background()
	if _, err := d.rt.CallOf(ctx, agent, d.id); !errors.Is(err, deed.ErrForbidden) {
		t.Errorf("its own actor: %v", err)
	}
	if _, err := d.rt.CallOf(ctx, operator, "op_00000000000000000000000000"); !errors.Is(err, deed.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	if _, err := d.rt.CallOfAuthorized(ctx, "acme", d.id); err == nil {
		t.Error("an uncertain operation was run as approved")
	}
	for name, call := range map[string]deed.Call{
		"without the right": {Principal: agent, Tool: "pay/refund", Resume: d.id},
		"another tool":      {Principal: operator, Tool: "pay/charge", Resume: d.id},
		"unknown":           {Principal: operator, Tool: "pay/refund", Resume: "op_00000000000000000000000000"},
	} {
		if answer, grant := d.claim(d.rt, call); grant != nil || answer.Decision != deed.Denied {
			t.Errorf("%s: %s(%s)", name, answer.Decision, answer.Reason)
		}
	}
}

func TestATwinHoldsWhatAnOperatorRuns(t *testing.T) {
	d := unsent(t, nil)
	_, first := d.claim(d.rt, refund("12"))
	d.id = first.Operation
	d.settle(d.rt, first, deed.Outcome{Kind: deed.OutcomeUnsent})
	twin := refund("12")
	twin.Key = deed.OperationKey("refund:order-1042:second")
	_, second := d.claim(d.rt, twin)
	d.settle(d.rt, second, deed.Outcome{Kind: deed.OutcomeUnknown})
	d.clock.Advance(time.Minute)
	answer, grant := d.resume(operator)
	if grant != nil || answer.Reason != deed.ReasonTwinUnresolved {
		t.Errorf("%s(%s)", answer.Decision, answer.Reason)
	}
}

func TestACallLooksItsUncertainOperationUpFirst(t *testing.T) {
	d := newInDoubt(t, func(r *deed.Rule) { r.ReconcileInline = true })
	d.answer = d.found("re_7")
	answer := d.do(refund("12"))
	d.want(answer, deed.Replay, deed.ReasonResultDiscarded, 0)
	if answer.Operation.Receipt().RemoteID != "re_7" || len(d.asked) != 1 {
		t.Errorf("%+v after %d look-ups", answer.Operation.Receipt(), len(d.asked))
	}
}

func TestACallLooksUpOnlyWhatIsDueAndItsOwn(t *testing.T) {
	d := newInDoubt(t, func(r *deed.Rule) { r.ReconcileInline = true })
	d.answer = nothing
	d.want(d.do(refund("12")), deed.Uncertain, deed.ReasonOutcomeUnknown, 0)
	d.want(d.do(refund("12")), deed.Uncertain, deed.ReasonOutcomeUnknown, 0)
	twin := refund("12")
	twin.Key = deed.OperationKey("refund:order-1042:second")
	d.want(d.do(twin), deed.Uncertain, deed.ReasonTwinUnresolved, 0)
	if len(d.asked) != 1 {
		t.Errorf("%d look-ups", len(d.asked))
	}
}

func TestManyAreResolvedByOneDecision(t *testing.T) {
	d := newInDoubt(t, nil)
	other := refund("13")
	other.Key = deed.OperationKey("refund:order-1043:first")
	_, running := d.claim(d.rt, other)
	ctx := context.Background()
	res := deed.Resolution{Outcome: deed.ResolveNotApplied, Reason: "the provider was down all day"}
	query := deed.Query{Tool: "pay/refund"}
	count := func(list []deed.Resolved) (done int) {
		for _, one := range list {
			if one.Err == nil {
				done++
			}
		}
		return done
	}
	dry, err := d.rt.ResolveMany(ctx, operator, query, res, true)
	if err != nil || len(dry) != 2 || count(dry) != 1 {
		t.Fatalf("%v: %+v", err, dry)
	}
	d.wantStatus(deed.StatusUncertain, deed.ReasonOutcomeUnknown)
	done, err := d.rt.ResolveMany(ctx, operator, query, res, false)
	if err != nil || len(done) != 2 || count(done) != 1 {
		t.Fatalf("%v: %+v", err, done)
	}
	d.wantStatus(deed.StatusFailed, deed.ReasonResolved)
	for _, one := range done {
		if one.Operation.ID == running.Operation && one.Err == nil {
			t.Error("a running operation was resolved")
		}
	}
	if _, err := d.rt.ResolveMany(ctx, agent, query, res, true); !errors.Is(err, deed.ErrForbidden) {
		t.Errorf("without the right: %v", err)
	}
	res.RemoteIDs = []string{"re_1"}
	if _, err := d.rt.ResolveMany(ctx, operator, query, res, true); err == nil {
		t.Error("many operations with one remote id")
	}
	d.settle(d.rt, running, success("re_2"))
}

func TestABatchIsWhatItsMembersAre(t *testing.T) {
	item := func(kind deed.OutcomeKind) deed.Item { return deed.Item{ID: string(kind), Outcome: kind} }
	for _, c := range []struct {
		name   string
		items  []deed.Item
		status deed.Status
	}{
		{"all accepted", []deed.Item{item(deed.OutcomeSuccess), item(deed.OutcomeSuccess)}, deed.StatusCommitted},
		{"one of three refused", []deed.Item{item(deed.OutcomeSuccess), item(deed.OutcomeRefused), item(deed.OutcomeSuccess)}, deed.StatusCommitted},
		{"one unknown", []deed.Item{item(deed.OutcomeSuccess), item(deed.OutcomeUnknown)}, deed.StatusUncertain},
		{"a member without an outcome", []deed.Item{item(deed.OutcomeSuccess), {ID: "x"}}, deed.StatusUncertain},
		{"all refused", []deed.Item{item(deed.OutcomeRefused), item(deed.OutcomeUnsent)}, deed.StatusFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := unsent(t, nil)
			_, grant := d.claim(d.rt, refund("12"))
			answer := d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "b_1", Items: c.items}})
			if answer.Operation.Status != c.status {
				t.Errorf("%s, want %s", answer.Operation.Status, c.status)
			}
			if c.status == deed.StatusCommitted && len(answer.Operation.Receipt().Items) != len(c.items) {
				t.Error("the receipt does not name the members")
			}
			if c.status != deed.StatusUncertain {
				return
			}
			op, err := d.rt.Resolve(context.Background(), operator, grant.Operation, deed.Resolution{
				Outcome: deed.ResolveCommitted, Reason: "asked them", RemoteIDs: []string{"b_1"},
				Items: []deed.Item{item(deed.OutcomeSuccess), item(deed.OutcomeRefused)},
			})
			if err != nil || len(op.Receipt().Items) != 2 {
				t.Errorf("%v %+v", err, op)
			}
		})
	}
}

func TestWhatIsRefusedIsNotRunBecauseOfLooserRules(t *testing.T) {
	for name, loosen := range map[string]func(*deed.Rule){
		"the tool is taken for read-only": func(r *deed.Rule) { r.Effect = deed.EffectReadOnly },
		"rules only observe":              func(r *deed.Rule) { r.Mode = deed.ModeObserve },
	} {
		t.Run(name, func(t *testing.T) {
			d := newInDoubt(t, nil)
			loosen(&d.rule)
			d.rt = d.start(d.clock)
			if answer, grant := d.resume(operator); grant != nil {
				t.Errorf("%s(%s)", answer.Decision, answer.Reason)
			}
		})
	}
}
