// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

// world is a random schedule of calls, crashes, lost replies, late results
// and decisions, beside a provider that counts what really happened.
type world struct {
	clock     *storetest.Clock
	store     *storetest.Memory
	processes []*deed.Runtime
	flights   []*flight
	// effects counts what the provider did, per operation; permitted counts
	// the second effects that an operator authorised by force.
	effects   map[deed.OperationID]int
	permitted map[deed.OperationID]int
	// told are the remote ids of successes that a caller was told.
	told map[deed.OperationID]string
	// proofs are successes that reached the ledger.
	proofs    map[deed.OperationID]bool
	committed map[deed.OperationID]bool
	idle      bool
	// guarded: calls need a person's consent and cost money.
	guarded bool
	// seen counts events, so that a schedule that never gets anywhere is
	// noticed.
	seen map[deed.EventName]int
	next int
}

// flight is one granted attempt, in its process and on the wire.
type flight struct {
	process int
	grant   *deed.Grant
	sent    bool
	// reply is what the provider answered; zero while it has not.
	reply   deed.OutcomeKind
	remote  string
	settled int
	// dead: the process that held it has crashed.
	dead bool
}

var worldActor = deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead}}
var operator = deed.Principal{Tenant: "acme", Actor: "ana", Rights: []deed.Right{deed.RightRead, deed.RightResolve}}

const (
	worldLease   = 30 * time.Second
	worldTimeout = time.Minute
)

func (w *world) rule() deed.Rule {
	rule := deed.DefaultRule("pay/refund")
	rule.Wait = -1 // no call waits: the schedule decides what comes first
	rule.Lease, rule.Timeout = worldLease, worldTimeout
	rule.Rate, rule.Repeat = deed.Limit{N: 1 << 30, Per: time.Second}, deed.Limit{N: 1 << 30, Per: time.Second}
	if w.idle {
		rule.Effect = deed.EffectIdempotent
	}
	if w.guarded {
		rule.Approval, rule.Spend = &deed.ApprovalRule{OnCall: true, Quorum: 2, Expires: 3 * time.Minute}, worldSpend()
	}
	return rule
}

func (w *world) start(t *rapid.T) *deed.Runtime {
	rt, err := deed.New(deed.Options{
		Store: w.store, Clock: w.clock, Policy: deed.FixedPolicy{"pay/refund": w.rule()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// call sends one of a few keys with one of a few contents from a process.
func (w *world) call(t *rapid.T) {
	process := rapid.IntRange(0, len(w.processes)-1).Draw(t, "process")
	call := deed.Call{
		Principal: worldActor, Tool: "pay/refund", ManualLease: true,
		Arguments: []byte(fmt.Sprintf(`{"amount":%d}`, rapid.IntRange(1, 2).Draw(t, "amount"))),
		Facts:     deed.ToolFacts{UpstreamIdentity: "provider"},
	}
	key := deed.OperationKey(fmt.Sprintf("refund:order-%04d:first", rapid.IntRange(1, 3).Draw(t, "order")))
	provenance := rapid.SampledFrom([]deed.Provenance{deed.ProvenanceRuntime, deed.ProvenanceModel}).Draw(t, "provenance")
	call.Carriers = []deed.Carrier{{Provenance: provenance, Identity: key, Name: "key"}}
	answer, grant, err := w.processes[process].Claim(context.Background(), call)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	if grant != nil {
		w.fits(t)
		w.flights = append(w.flights, &flight{process: process, grant: grant})
		return
	}
	if answer.Decision == deed.Replay {
		if want := w.told[answer.Operation.ID]; want != "" && answer.Operation.Receipt().RemoteID != want {
			t.Fatalf("replay of %s says %s, its caller was told %s", answer.Operation.ID, answer.Operation.Receipt().RemoteID, want)
		}
		w.processes[process].Delivered(context.Background(), answer)
	}
	if answer.Reason == deed.ReasonStoreUnavailable {
		t.Fatalf("the store was there: %s", answer.Text)
	}
}

// draw picks a flight that satisfies want; nil when there is none.
func (w *world) draw(t *rapid.T, want func(*flight) bool) *flight {
	var list []*flight
	for _, f := range w.flights {
		if want(f) {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		t.Skip("no such flight")
	}
	return rapid.SampledFrom(list).Draw(t, "flight")
}

// send lets the first byte leave, if it still may.
func (w *world) send(t *rapid.T) {
	f := w.draw(t, func(f *flight) bool { return !f.sent && !f.dead && f.settled == 0 })
	if err := f.grant.MaySend(); err != nil {
		if !errors.Is(err, deed.ErrTooLate) {
			t.Fatal(err)
		}
		w.settle(t, f, deed.Outcome{Kind: deed.OutcomeUnsent})
		return
	}
	f.sent = true
}

// provide lets the provider act on something it received, however late.
func (w *world) provide(t *rapid.T) {
	f := w.draw(t, func(f *flight) bool { return f.sent && f.reply == "" })
	f.reply = rapid.SampledFrom([]deed.OutcomeKind{deed.OutcomeSuccess, deed.OutcomeRefused, deed.OutcomeUnknown}).Draw(t, "reply")
	if f.reply == deed.OutcomeSuccess {
		w.next++
		f.remote = fmt.Sprintf("re_%d", w.next)
		w.effects[f.grant.Operation]++
	}
}

// reply brings the provider's answer to the process that asked.
func (w *world) reply(t *rapid.T) {
	f := w.draw(t, func(f *flight) bool { return f.reply != "" && !f.dead && f.settled < 2 })
	w.settle(t, f, deed.Outcome{Kind: f.reply, Receipt: deed.Receipt{RemoteID: f.remote}, Result: []byte(`{"id":"` + f.remote + `"}`),
		Final: rapid.Bool().Draw(t, "final")})
}

// cut loses the answer, or the patience with it.
func (w *world) cut(t *rapid.T) {
	f := w.draw(t, func(f *flight) bool { return f.sent && !f.dead && f.settled == 0 })
	w.settle(t, f, deed.Outcome{Kind: deed.OutcomeUnknown})
}

func (w *world) settle(t *rapid.T, f *flight, out deed.Outcome) {
	f.settled++
	answer, err := w.processes[f.process].Settle(context.Background(), f.grant, out)
	if err != nil {
		t.Fatalf("settle: %v", err)
	}
	if out.Kind == deed.OutcomeSuccess {
		w.proofs[f.grant.Operation] = true
	}
	if answer.Operation.Status == deed.StatusCommitted {
		w.told[f.grant.Operation] = answer.Operation.Receipt().RemoteID
		if rapid.Bool().Draw(t, "the caller is still there") {
			w.processes[f.process].Delivered(context.Background(), answer)
		}
	}
}

func (w *world) crash(t *rapid.T) {
	process := rapid.IntRange(0, len(w.processes)-1).Draw(t, "process")
	for _, f := range w.flights {
		if f.process == process {
			f.dead = true
		}
	}
	w.processes[process] = w.start(t)
}

func (w *world) advance(t *rapid.T) {
	w.clock.Advance(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
}

func (w *world) renew(t *rapid.T) {
	f := w.draw(t, func(f *flight) bool { return !f.dead && f.settled == 0 })
	if err := w.processes[f.process].Renew(context.Background(), f.grant); err != nil && !errors.Is(err, deed.ErrVersion) {
		t.Fatal(err)
	}
}

func (w *world) pass(t *rapid.T) {
	if _, err := w.processes[0].Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// resolve lets a person decide, rightly or wrongly.
func (w *world) resolve(t *rapid.T) {
	page, err := w.processes[0].List(context.Background(), operator, deed.Query{})
	if err != nil || len(page.Operations) == 0 {
		t.Skip("nothing to resolve")
	}
	op := rapid.SampledFrom(page.Operations).Draw(t, "operation")
	res := deed.Resolution{
		Outcome: rapid.SampledFrom([]deed.ResolutionOutcome{deed.ResolveCommitted, deed.ResolveNotApplied, deed.ResolveAbandon}).Draw(t, "outcome"),
		Reason:  "looked it up", Force: rapid.Bool().Draw(t, "force"),
	}
	if res.Outcome == deed.ResolveCommitted && w.effects[op.ID] == 0 {
		t.Skip("nobody states what did not happen")
	}
	next, err := w.processes[0].Resolve(context.Background(), operator, op.ID, res)
	var refused *deed.RefusedError
	switch {
	case errors.As(err, &refused):
		return
	case err != nil:
		t.Fatalf("resolve: %v", err)
	}
	if res.Outcome == deed.ResolveNotApplied && next.Status == deed.StatusFailed {
		w.permitted[op.ID]++
	}
	if res.Outcome == deed.ResolveCommitted {
		w.told[op.ID] = next.Receipt().RemoteID
	}
}

func (w *world) cancel(t *rapid.T) {
	page, err := w.processes[0].List(context.Background(), worldActor, deed.Query{})
	if err != nil || len(page.Operations) == 0 {
		t.Skip("nothing to cancel")
	}
	op := rapid.SampledFrom(page.Operations).Draw(t, "operation")
	_, err = w.processes[0].Cancel(context.Background(), worldActor, op.ID, "no longer wanted")
	var refused *deed.RefusedError
	if err != nil && !errors.As(err, &refused) {
		t.Fatalf("cancel: %v", err)
	}
}

// check holds the invariants against the provider's own count.
func (w *world) check(t *rapid.T) {
	page, err := w.processes[0].List(context.Background(), operator, deed.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	unresolved := map[deed.Fingerprint]deed.OperationID{}
	for _, op := range page.Operations {
		n := w.effects[op.ID]
		if !w.idle && n > 1+w.permitted[op.ID] {
			t.Fatalf("%s: %d effects, %d permitted beyond the first", op.ID, n, w.permitted[op.ID])
		}
		if op.Status == deed.StatusFailed && n > 0 && w.permitted[op.ID] == 0 {
			t.Fatalf("%s is %s(%s) and had %d effects", op.ID, op.Status, op.Reason, n)
		}
		if w.proofs[op.ID] && op.Status != deed.StatusCommitted && op.Status != deed.StatusExecuting {
			t.Fatalf("%s: its proof of commit is lost, it is %s", op.ID, op.Status)
		}
		if w.committed[op.ID] && op.Status != deed.StatusCommitted {
			t.Fatalf("%s was committed and is %s", op.ID, op.Status)
		}
		if op.Status == deed.StatusCommitted {
			w.committed[op.ID] = true
			if len(op.Receipts) == 0 {
				t.Fatalf("%s is committed without a receipt", op.ID)
			}
		}
		if op.Unresolved(w.clock.Now()) && !w.idle {
			if other, twice := unresolved[op.Fingerprint]; twice && w.effects[other]+n > 1 && w.permitted[other]+w.permitted[op.ID] == 0 && !abandoned(page.Operations) {
				t.Fatalf("%s and %s are equal, unresolved, and both had effects", other, op.ID)
			}
			unresolved[op.Fingerprint] = op.ID
		}
	}
	events, err := w.store.Events(context.Background(), deed.EventQuery{Tenant: "acme", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events {
		w.seen[event.Name]++
	}
}

func abandoned(list []*deed.Operation) bool {
	for _, op := range list {
		if op.Reason == deed.ReasonAbandoned {
			return true
		}
	}
	return false
}

func schedule(idempotent bool, seen map[deed.EventName]int) func(*rapid.T) {
	return func(t *rapid.T) {
		clock := storetest.NewClock(noon)
		w := &world{
			clock: clock, store: storetest.NewMemory(clock), idle: idempotent, seen: seen,
			effects: map[deed.OperationID]int{}, permitted: map[deed.OperationID]int{}, told: map[deed.OperationID]string{},
			proofs: map[deed.OperationID]bool{}, committed: map[deed.OperationID]bool{},
		}
		w.processes = []*deed.Runtime{w.start(t), w.start(t)}
		t.Repeat(map[string]func(*rapid.T){
			"call": w.call, "call again": w.call, "call once more": w.call,
			"send": w.send, "send another": w.send, "provide": w.provide, "provide another": w.provide,
			"reply": w.reply, "cut": w.cut, "crash": w.crash, "advance": w.advance, "renew": w.renew,
			"recover": w.pass, "resolve": w.resolve, "cancel": w.cancel, "": w.check,
		})
	}
}

// worldEvents are what random schedules must lead to, or they prove nothing.
var worldEvents = []deed.EventName{
	deed.EventBegun, deed.EventSucceeded, deed.EventProved, deed.EventRefused, deed.EventRefusedLate, deed.EventUnclear,
	deed.EventLeaseLost, deed.EventResolvedCommitted, deed.EventResolvedNot, deed.EventResolvedAbandoned,
	deed.EventCancelRequested, "replay", "conflict", "uncertain", "in_progress", deed.Delivered,
}

func TestRandomSchedulesHaveAtMostOneEffect(t *testing.T) {
	seen := map[deed.EventName]int{}
	missing := func() (list []deed.EventName) {
		for _, event := range worldEvents {
			if seen[event] == 0 {
				list = append(list, event)
			}
		}
		return list
	}
	for round := 0; round < 200 && (round == 0 || len(missing()) > 0); round++ {
		rapid.Check(t, schedule(false, seen))
	}
	if never := missing(); len(never) > 0 {
		t.Errorf("no schedule ever led to %q", never)
	}
}

func TestRandomSchedulesOfAnIdempotentTool(t *testing.T) {
	rapid.Check(t, schedule(true, map[deed.EventName]int{}))
}
