// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

func TestReadsPassWithinTheirRate(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) {
		rule.Effect = deed.EffectReadOnly
		rule.Rate = deed.Limit{N: 2, Per: time.Minute}
	})
	call := keyed("1")
	b.want(b.do(call), deed.Execute, "", 1)
	b.want(b.do(call), deed.Execute, "", 2)
	answer := b.do(call)
	b.want(answer, deed.Denied, deed.ReasonRate, 2)
	if answer.RetryAfter <= 0 || answer.RetryAfter > 30*time.Second {
		t.Errorf("retry after %s", answer.RetryAfter)
	}
	b.clock.Advance(30 * time.Second)
	b.want(b.do(call), deed.Execute, "", 3)
}

func TestALoopOfEqualEffectsIsStopped(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) { rule.Repeat = deed.Limit{N: 3, Per: 5 * time.Minute} })
	for i := range 5 {
		answer := b.do(keyed("12", runtime(fmt.Sprintf("refund:order-1042:%04d", i))))
		if i < 3 {
			b.want(answer, deed.Execute, "", int64(i+1))
		} else {
			b.want(answer, deed.Denied, deed.ReasonLoop, 3)
		}
	}
	b.want(b.do(keyed("12", runtime("refund:order-1042:0000"))), deed.Replay, deed.ReasonStored, 3)
}

func TestPolicyAndSchemaAreCheckedBeforeAKeyIsBound(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) {
		rule.Deny = func(arguments []byte, _ deed.Principal) string {
			if string(arguments) == string(refund("99").Arguments) {
				return "refunds above 50 are not for agents"
			}
			return ""
		}
	})
	b.want(b.do(refund("99")), deed.Denied, deed.ReasonForbidden, 0)
	invalid := refund("12")
	invalid.Validate = func([]byte) string { return "/amount: want a string" }
	b.want(b.do(invalid), deed.Denied, deed.ReasonBadArguments, 0)
	b.want(b.do(refund("12")), deed.Execute, "", 1)
	b.want(b.do(invalid), deed.Replay, deed.ReasonStored, 1)
}

func TestWithoutTheRightToCallNothingRuns(t *testing.T) {
	b := newRig(t, nil)
	call := refund("12")
	call.Principal.Rights = []deed.Right{deed.RightRead}
	b.want(b.do(call), deed.Denied, deed.ReasonForbidden, 0)
}

func TestAProcessWithOlderRulesReplaysButDoesNotBegin(t *testing.T) {
	b := newRig(t, nil)
	older := b.rt
	b.do(refund("12"))
	b.rule.Matter, b.rule.Revision = []string{"/order_id"}, "2"
	newer := b.process()
	_, grant := b.claim(newer, keyed("13", runtime("refund:order-1043:first")))
	b.settle(newer, grant, deed.Outcome{Kind: deed.OutcomeSuccess})
	answer, _ := b.claim(older, keyed("14", runtime("refund:order-1044:first")))
	b.want(answer, deed.Denied, deed.ReasonPolicyOutdated, 1)
	answer, _ = b.claim(older, refund("12"))
	b.want(answer, deed.Replay, deed.ReasonStored, 1)
}

func TestARepeatIsComparedUnderTheRulesOfItsRecord(t *testing.T) {
	b := newRig(t, nil)
	b.do(refund("12"))
	b.rule.Fingerprint = deed.FingerprintRules{Exclude: []string{"/amount"}}
	b.rule.Revision = "2"
	b.rt = b.process()
	b.want(b.do(refund("12")), deed.Replay, deed.ReasonStored, 1)
	b.want(b.do(refund("13")), deed.Conflict, deed.ReasonKeyReused, 1)
}

func TestAnUnresolvedTwinIsFoundUnderItsOwnRules(t *testing.T) {
	b := newRig(t, nil)
	_, grant := b.claim(b.rt, refund("12"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.rule.Fingerprint = deed.FingerprintRules{Exclude: []string{"/note"}}
	b.rule.Revision = "2"
	b.rt = b.process()
	b.want(b.do(keyed("12", runtime("refund:order-1042:other"))), deed.Uncertain, deed.ReasonTwinUnresolved, 0)
}

func TestAnotherUpstreamGetsNeitherAttemptNorReplay(t *testing.T) {
	b := newRig(t, nil)
	b.do(refund("12"))
	call := refund("12")
	call.Facts.UpstreamIdentity = "https://elsewhere.example"
	b.want(b.do(call), deed.Denied, deed.ReasonUpstreamChanged, 1)
	call.Arguments = refund("13").Arguments
	b.want(b.do(call), deed.Conflict, deed.ReasonKeyReused, 1)
}

func TestACallersOwnFingerprintIsChecked(t *testing.T) {
	b := newRig(t, nil)
	call := refund("12")
	call.EffectFingerprint = "sha256:00"
	b.want(b.do(call), deed.Denied, deed.ReasonFingerprintMismatch, 0)
	call.EffectFingerprint = b.do(refund("12")).Operation.Fingerprint
	b.want(b.do(call), deed.Replay, deed.ReasonStored, 1)
}

func TestAKeyArgumentIsLeftOutOfTheFingerprintAndSent(t *testing.T) {
	b := newRig(t, nil)
	call := keyed("1", model("refund:order-1042:first"))
	call.KeyArgument = "idempotency_key"
	call.Arguments = []byte(`{"amount":1,"idempotency_key":"refund:order-1042:first"}`)
	_, grant := b.claim(b.rt, call)
	if string(grant.Arguments) != string(call.Arguments) {
		t.Errorf("sends %s", grant.Arguments)
	}
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess})
	call.Carriers = []deed.Carrier{runtime("refund:order-1042:first")}
	call.Arguments = []byte(`{"amount":1}`)
	answer, _ := b.claim(b.rt, call)
	if answer.Decision != deed.Execute || answer.SimilarTo == "" {
		t.Errorf("an equal effect was not recognised: %+v", answer)
	}
}

func TestObserveModeRunsEverythingAndSaysWhatItWouldHaveDone(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) { rule.Mode = deed.ModeObserve })
	b.want(b.do(refund("12")), deed.Execute, "", 1)
	answer := b.do(refund("12"))
	if answer.WouldBe != deed.Replay {
		t.Errorf("would be %q", answer.WouldBe)
	}
	if b.effects.Load() != 2 {
		t.Errorf("%d effects", b.effects.Load())
	}
}

func TestSeventyEqualCallsOfOneModelShareOneEffect(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) { rule.Key.Need = deed.NeedOptional })
	release := make(chan struct{})
	var answers [70]deed.Answer
	var calls sync.WaitGroup
	for i := range answers {
		calls.Add(1)
		go func() {
			defer calls.Done()
			var err error
			call := keyed("12", callID(fmt.Sprintf("session-1/toolu_%d", i)))
			call.ArrivedAt = noon.Add(-time.Millisecond) // before any of them settled
			answers[i], err = b.rt.Do(context.Background(), call,
				func(ctx context.Context, a deed.Attempt) (deed.Receipt, error) {
					<-release
					return b.pay(ctx, a)
				})
			if err != nil {
				t.Error(err)
			}
		}()
	}
	close(release)
	calls.Wait()
	joined := 0
	for _, answer := range answers {
		if answer.Decision == deed.Replay {
			joined++
		}
		if string(answer.Result) != `{"id":"re_1"}` {
			t.Errorf("%s(%s) with %s", answer.Decision, answer.Reason, answer.Result)
		}
	}
	if b.effects.Load() != 1 || joined != 69 {
		t.Errorf("%d effects, %d joined", b.effects.Load(), joined)
	}
}

// crowdedStore has no room for a write until somebody else has written.
type crowdedStore struct {
	deed.Store
	once  sync.Once
	other func()
}

func (s *crowdedStore) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	crowded := false
	s.once.Do(func() { crowded = true; s.other() })
	if crowded {
		return deed.View{}, fmt.Errorf("%w: no place in the queue in time", deed.ErrUnavailable)
	}
	return s.Store.Transact(ctx, scope, change)
}

func TestACallWhoseWriteFindsNoRoomIsAnsweredFromWhatAnotherBegan(t *testing.T) {
	b := newRig(t, nil)
	first := b.process()
	b.store = &crowdedStore{Store: b.store, other: func() {
		if answer, err := first.Do(context.Background(), refund("12"), b.pay); err != nil || answer.Decision != deed.Execute {
			t.Errorf("the other call was answered %s(%s), %v", answer.Decision, answer.Reason, err)
		}
	}}
	b.rt = b.process()
	b.want(b.do(refund("12")), deed.Replay, deed.ReasonStored, 1)
	if b.effects.Load() != 1 {
		t.Errorf("%d effects", b.effects.Load())
	}
}

// brokenStore fails as told, before anything is written.
type brokenStore struct {
	deed.Store
	down atomic.Bool
}

func (s *brokenStore) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	if s.down.Load() {
		return deed.View{}, fmt.Errorf("%w: connection refused", deed.ErrUnavailable)
	}
	return s.Store.Transact(ctx, scope, change)
}

func (s *brokenStore) Load(ctx context.Context, scope deed.Scope) (deed.View, error) {
	if s.down.Load() {
		return deed.View{}, fmt.Errorf("%w: connection refused", deed.ErrUnavailable)
	}
	return s.Store.Load(ctx, scope)
}

func newBrokenBench(t *testing.T, change func(*deed.Rule)) (*rig, *brokenStore) {
	b := newRig(t, change)
	broken := &brokenStore{Store: storetest.NewMemory(b.clock)}
	b.store = broken
	b.rt = b.process()
	return b, broken
}

func TestWithoutTheLedgerMutationsAreRefusedAndReadsPass(t *testing.T) {
	b, broken := newBrokenBench(t, nil)
	b.do(refund("12"))
	broken.down.Store(true)
	b.want(b.do(refund("12")), deed.Denied, deed.ReasonStoreUnavailable, 1)
	b.want(b.do(keyed("13", runtime("refund:order-1043:first"))), deed.Denied, deed.ReasonStoreUnavailable, 1)
	b.rule.Effect = deed.EffectReadOnly
	reader := b.process()
	answer, err := reader.Do(context.Background(), keyed("1"), b.pay)
	if err != nil || answer.Decision != deed.Execute {
		t.Errorf("a read was answered %s(%s), %v", answer.Decision, answer.Reason, err)
	}
}

func TestAnOutcomeThatCannotBeStoredIsKeptAndTriedAgain(t *testing.T) {
	b, broken := newBrokenBench(t, nil)
	_, grant := b.claim(b.rt, refund("12"))
	broken.down.Store(true)
	answer := b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_1"}, Result: []byte(`{}`)})
	b.want(answer, deed.Uncertain, deed.ReasonOutcomeUnknown, 0)
	broken.down.Store(false)
	waitFor(t, func() bool {
		b.clock.Advance(time.Second)
		op, err := b.rt.Get(context.Background(), agent, grant.Operation)
		return err == nil && op.Status == deed.StatusCommitted
	})
}

func TestObserveModeRunsWithoutTheLedger(t *testing.T) {
	b, broken := newBrokenBench(t, func(rule *deed.Rule) { rule.Mode = deed.ModeObserve })
	broken.down.Store(true)
	answer := b.do(refund("12"))
	if b.effects.Load() != 1 || answer.WouldBe != deed.Denied {
		t.Errorf("%d effects, would be %q", b.effects.Load(), answer.WouldBe)
	}
}

func TestAProposalWaitsForAPersonAndLapses(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) {
		rule.NeedsApproval = func(arguments []byte, _ deed.Principal) bool { return strings.Contains(string(arguments), "12") }
		rule.Conditions = []string{"true"}
		rule.ApprovalExpires = time.Hour
	})
	b.want(b.do(keyed("5", runtime("refund:order-1041:first"))), deed.Execute, "", 1)
	b.effects.Store(0)
	first := b.do(refund("12"))
	b.want(first, deed.AwaitingApproval, deed.ReasonPending, 0)
	b.want(b.do(refund("12")), deed.AwaitingApproval, deed.ReasonPending, 0)
	b.want(b.do(refund("13")), deed.Conflict, deed.ReasonKeyReused, 0)
	b.clock.Advance(2 * time.Hour)
	again := b.do(refund("12"))
	b.want(again, deed.AwaitingApproval, deed.ReasonPending, 0)
	if again.Operation.Approval.Digest == first.Operation.Approval.Digest || again.Operation.ID != first.Operation.ID {
		t.Error("a lapsed approval is proposed again under the same operation with a new digest")
	}
}

func TestResolving(t *testing.T) {
	person := deed.Principal{Tenant: "acme", Actor: "ana", Rights: []deed.Right{deed.RightRead, deed.RightResolve}}
	lost := func(t *testing.T) (*rig, *deed.Grant) {
		b := newRig(t, nil)
		_, grant := b.claim(b.rt, refund("12"))
		b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
		return b, grant
	}
	t.Run("as committed, the next call replays", func(t *testing.T) {
		b, grant := lost(t)
		op, err := b.rt.Resolve(context.Background(), person, grant.Operation, deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"m1"}, Reason: "seen in the mailbox"})
		if err != nil || op.Receipt().EstablishedBy != "operator:ana" || op.Receipt().RemoteID != "m1" {
			t.Fatalf("%+v, %v", op, err)
		}
		b.want(b.do(refund("12")), deed.Replay, deed.ReasonResultDiscarded, 0)
	})
	t.Run("as not applied, the next call runs once", func(t *testing.T) {
		b, grant := lost(t)
		if _, err := b.rt.Resolve(context.Background(), person, grant.Operation, deed.Resolution{Outcome: deed.ResolveNotApplied, Reason: "not in the mailbox"}); err != nil {
			t.Fatal(err)
		}
		b.clock.Advance(time.Second)
		b.want(b.do(refund("12")), deed.Execute, "", 1)
		b.want(b.do(refund("12")), deed.Replay, deed.ReasonStored, 1)
	})
	t.Run("abandoned, it never runs and frees its twins", func(t *testing.T) {
		b, grant := lost(t)
		if _, err := b.rt.Resolve(context.Background(), person, grant.Operation, deed.Resolution{Outcome: deed.ResolveAbandon, Reason: "nobody knows"}); err != nil {
			t.Fatal(err)
		}
		b.want(b.do(refund("12")), deed.Uncertain, deed.ReasonAbandoned, 0)
		b.want(b.do(keyed("12", runtime("refund:order-1042:other"))), deed.Execute, "", 1)
	})
	t.Run("it takes a reason, the right, and a live holder's patience", func(t *testing.T) {
		b := newRig(t, nil)
		call := refund("12")
		call.ManualLease = true
		_, grant := b.claim(b.rt, call)
		res := deed.Resolution{Outcome: deed.ResolveNotApplied, Reason: "no"}
		if _, err := b.rt.Resolve(context.Background(), agent, grant.Operation, res); !errors.Is(err, deed.ErrForbidden) {
			t.Errorf("without the right: %v", err)
		}
		if _, err := b.rt.Resolve(context.Background(), person, grant.Operation, deed.Resolution{Outcome: deed.ResolveNotApplied}); err == nil {
			t.Error("without a reason it was resolved")
		}
		var refused *deed.RefusedError
		if _, err := b.rt.Resolve(context.Background(), person, grant.Operation, res); !errors.As(err, &refused) {
			t.Errorf("while it runs: %v", err)
		}
		b.clock.Advance(time.Minute)
		if _, err := b.rt.Resolve(context.Background(), person, grant.Operation, res); !errors.As(err, &refused) {
			t.Errorf("while its holder may live: %v", err)
		}
		res.Version = 1
		if _, err := b.rt.Resolve(context.Background(), person, grant.Operation, res); err == nil {
			t.Error("a stale view was accepted")
		}
		res.Version, res.Force = 0, true
		if op, err := b.rt.Resolve(context.Background(), person, grant.Operation, res); err != nil || op.Status != deed.StatusFailed {
			t.Errorf("by force: %v, %v", op, err)
		}
	})
}

func TestCancelling(t *testing.T) {
	b := newRig(t, nil)
	_, grant := b.claim(b.rt, refund("12"))
	if _, err := b.rt.Cancel(context.Background(), agent, grant.Operation, "changed my mind"); err != nil {
		t.Fatal(err)
	}
	answer := b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeRefused})
	if answer.Operation.Status != deed.StatusCancelled {
		t.Errorf("refused after a cancel it is %s", answer.Operation.Status)
	}
	b.want(b.do(refund("12")), deed.Denied, deed.ReasonCancelled, 0)
}

func TestTooOldAndReopened(t *testing.T) {
	b := newRig(t, nil)
	_, grant := b.claim(b.rt, refund("12"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeRefused})
	b.clock.Advance(25 * time.Hour)
	b.want(b.do(refund("12")), deed.Failed, deed.ReasonTooOld, 0)
	person := deed.Principal{Tenant: "acme", Actor: "ana", Rights: []deed.Right{deed.RightRead, deed.RightResolve}}
	if _, err := b.rt.Reopen(context.Background(), person, grant.Operation, "still wanted"); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Second)
	b.want(b.do(refund("12")), deed.Execute, "", 1)
}

func TestAnIdempotentToolMayRunAgainFromUncertain(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) { rule.Effect = deed.EffectIdempotent; rule.Matter = []string{"/order_id"} })
	_, grant := b.claim(b.rt, refund("12"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.want(b.do(refund("12")), deed.Execute, "", 1)
	_, first := b.claim(b.rt, keyed("13", runtime("refund:order-1042:second")))
	b.settle(b.rt, first, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.clock.Advance(time.Second)
	b.do(keyed("14", runtime("refund:order-1042:third")))
	b.want(b.do(keyed("13", runtime("refund:order-1042:second"))), deed.Uncertain, deed.ReasonOutcomeUnknown, 2)
}

func TestAnIdempotentToolWithoutAMatterRunsAgainOnlyIfItIsTheLatest(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) { rule.Effect = deed.EffectIdempotent })
	_, first := b.claim(b.rt, keyed("13", runtime("refund:order-1042:first")))
	b.settle(b.rt, first, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.clock.Advance(time.Second)
	b.do(keyed("14", runtime("refund:order-1042:second")))
	b.want(b.do(keyed("13", runtime("refund:order-1042:first"))), deed.Uncertain, deed.ReasonOutcomeUnknown, 1)
}

func TestAnOperatorIsNamedOnce(t *testing.T) {
	b := newRig(t, nil)
	_, grant := b.claim(b.rt, refund("12"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
	person := deed.Principal{Tenant: "acme", Actor: "operator:ana", Rights: []deed.Right{deed.RightRead, deed.RightResolve}}
	op, err := b.rt.Resolve(context.Background(), person, grant.Operation, deed.Resolution{Outcome: deed.ResolveCommitted, Reason: "seen"})
	if err != nil || op.Receipt().EstablishedBy != "operator:ana" {
		t.Errorf("%+v, %v", op, err)
	}
}

func TestClosingStillRecordsAnOutcomeThatWaitsForTheLedger(t *testing.T) {
	b, broken := newBrokenBench(t, nil)
	rt := b.process()
	_, grant := b.claim(rt, refund("12"))
	broken.down.Store(true)
	b.settle(rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_1"}})
	closed := make(chan error)
	go func() { closed <- rt.Close(context.Background()) }()
	broken.down.Store(false)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	op, err := b.rt.Get(context.Background(), agent, grant.Operation)
	if err != nil || op.Status != deed.StatusCommitted {
		t.Errorf("%v, %v", op, err)
	}
}

func TestClosingNamesWhatItCouldNotRecord(t *testing.T) {
	b, broken := newBrokenBench(t, nil)
	rt := b.process()
	_, grant := b.claim(rt, refund("12"))
	broken.down.Store(true)
	b.settle(rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_1"}})
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err := rt.Close(ctx)
	if err == nil || !strings.Contains(err.Error(), string(grant.Operation)) || !strings.Contains(err.Error(), "re_1") {
		t.Errorf("closing said %v", err)
	}
	broken.down.Store(false)
}
