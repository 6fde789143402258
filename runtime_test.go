// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

func TestARepeatGetsTheStoredReceipt(t *testing.T) {
	b := newRig(t, nil)
	first := b.do(refund("12"))
	b.want(first, deed.Execute, "", 1)
	again := b.do(refund("12.0"))
	b.want(again, deed.Replay, deed.ReasonStored, 1)
	if string(again.Result) != string(first.Result) || again.Operation.Receipt().RemoteID != "re_1" {
		t.Errorf("replayed %s, %+v", again.Result, again.Operation.Receipt())
	}
	other := b.process()
	answer, grant := b.claim(other, refund("12"))
	if grant != nil {
		t.Fatal("a restarted process was granted the same operation")
	}
	b.want(answer, deed.Replay, deed.ReasonStored, 1)
}

func TestOtherArgumentsUnderTheSameKeyConflict(t *testing.T) {
	b := newRig(t, nil)
	first := b.do(refund("12"))
	answer := b.do(refund("13"))
	b.want(answer, deed.Conflict, deed.ReasonKeyReused, 1)
	if answer.Received == first.Operation.Fingerprint || answer.Operation.Fingerprint != first.Operation.Fingerprint {
		t.Error("the conflict does not show both fingerprints")
	}
	if answer.Operation.Receipt().RemoteID != "re_1" {
		t.Error("the conflict does not name the existing remote object")
	}
}

func TestConcurrentDuplicatesShareOneEffect(t *testing.T) {
	b := newRig(t, nil)
	release := make(chan struct{})
	started := make(chan struct{})
	var once sync.Once
	slow := func(ctx context.Context, a deed.Attempt) (deed.Receipt, error) {
		once.Do(func() { close(started) })
		<-release
		return b.pay(ctx, a)
	}
	answers := make(chan deed.Answer, 50)
	for range 50 {
		go func() {
			answer, err := b.rt.Do(context.Background(), refund("12"), slow)
			if err != nil {
				t.Error(err)
			}
			answers <- answer
		}()
	}
	<-started
	close(release)
	counts := map[deed.Decision]int{}
	for range 50 {
		answer := <-answers
		counts[answer.Decision]++
		if answer.Operation.Receipt().RemoteID != "re_1" {
			t.Errorf("an answer names %q", answer.Operation.Receipt().RemoteID)
		}
	}
	if counts[deed.Execute] != 1 || counts[deed.Replay] != 49 || b.effects.Load() != 1 {
		t.Errorf("answers %v, effects %d", counts, b.effects.Load())
	}
}

func TestWhatTheFunctionSaysOfItsFailure(t *testing.T) {
	boom := errors.New("boom")
	for _, test := range []struct {
		name     string
		err      error
		status   deed.Status
		reason   deed.Reason
		decision deed.Decision
	}{
		{"proof that nothing left may be retried", deed.NotSent(boom), deed.StatusFailed, deed.ReasonNotSent, deed.Execute},
		{"a refusal is final", deed.Refused(boom), deed.StatusFailed, deed.ReasonRefused, deed.Failed},
		{"anything else is unknown", boom, deed.StatusUncertain, deed.ReasonOutcomeUnknown, deed.Uncertain},
		{"a panic is unknown", nil, deed.StatusUncertain, deed.ReasonOutcomeUnknown, deed.Uncertain},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newRig(t, nil)
			answer, err := b.rt.Do(context.Background(), refund("12"), func(context.Context, deed.Attempt) (deed.Receipt, error) {
				if test.err == nil {
					panic("boom")
				}
				return deed.Receipt{}, test.err
			})
			if err != nil || answer.Decision != deed.Execute || answer.Operation.Status != test.status || answer.Operation.Reason != test.reason {
				t.Fatalf("%+v, %v", answer, err)
			}
			b.clock.Advance(2 * time.Second)
			if again := b.do(refund("12")); again.Decision != test.decision {
				t.Errorf("the repeat got %s(%s)", again.Decision, again.Reason)
			}
		})
	}
}

func TestACallerThatLeavesDoesNotStopTheEffect(t *testing.T) {
	b := newRig(t, nil)
	ctx, leave := context.WithCancel(context.Background())
	release, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, err := b.rt.Do(ctx, refund("12"), func(inner context.Context, a deed.Attempt) (deed.Receipt, error) {
			leave()
			<-release
			if inner.Err() != nil {
				t.Error("the effect's context was cancelled with the caller's")
			}
			return b.pay(inner, a)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the caller was told %v", err)
		}
	}()
	<-done
	close(release)
	answer := b.do(refund("12"))
	b.want(answer, deed.Replay, answer.Reason, 1)
}

func TestALostLeaseIsUncertainAndNeverRunsAgain(t *testing.T) {
	b := newRig(t, nil)
	call := refund("12")
	call.ManualLease = true
	_, grant := b.claim(b.rt, call)
	b.clock.Advance(31 * time.Second)
	other := b.process()
	answer, again := b.claim(other, refund("12"))
	if again != nil {
		t.Fatal("a lost lease made the operation runnable")
	}
	b.want(answer, deed.Uncertain, deed.ReasonOutcomeUnknown, 0)
	if answer.Operation.Status != deed.StatusUncertain {
		t.Errorf("whoever meets a lost lease writes it; it is %s", answer.Operation.Status)
	}
	if err := grant.MaySend(); !errors.Is(err, deed.ErrTooLate) {
		t.Errorf("sending after send_by: %v", err)
	}
	if err := b.rt.Renew(context.Background(), grant); !errors.Is(err, deed.ErrVersion) {
		t.Errorf("renewing a lost lease: %v", err)
	}
	late := b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_9"}, Result: []byte(`{}`)})
	if late.Operation.Status != deed.StatusCommitted {
		t.Errorf("a late success left it %s", late.Operation.Status)
	}
	answer, _ = b.claim(other, refund("12"))
	b.want(answer, deed.Replay, deed.ReasonStored, 0)
}

func TestTheRecoveryPassWritesLostLeasesAndSendsNothing(t *testing.T) {
	b := newRig(t, nil)
	call := refund("12")
	call.ManualLease = true
	_, grant := b.claim(b.rt, call)
	b.clock.Advance(31 * time.Second)
	n, err := b.process().Recover(context.Background())
	if err != nil || n != 1 {
		t.Fatalf("recovered %d, %v", n, err)
	}
	op, err := b.rt.Get(context.Background(), agent, grant.Operation)
	if err != nil || op.Status != deed.StatusUncertain {
		t.Errorf("%v, %v", op, err)
	}
}

func TestRenewalKeepsTheLeaseOfALongCall(t *testing.T) {
	b := newRig(t, nil)
	_, grant := b.claim(b.rt, refund("12"))
	for range 12 {
		waitFor(t, func() bool { return b.clock.Waiting() > 0 })
		b.clock.Advance(10 * time.Second)
		waitFor(t, func() bool {
			op, err := b.rt.Get(context.Background(), agent, grant.Operation)
			return err == nil && op.LeaseExpiresAt.Sub(b.clock.Now()) > 25*time.Second
		})
	}
	op, err := b.rt.Get(context.Background(), agent, grant.Operation)
	if err != nil || op.EffectiveStatus(b.clock.Now()) != deed.StatusExecuting {
		t.Fatalf("after two minutes: %v, %v", op, err)
	}
	if grant.MaySend() == nil {
		t.Error("renewing moved send_by")
	}
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess})
}

func TestClosingMakesOwnAttemptsUncertain(t *testing.T) {
	b := newRig(t, nil)
	rt := b.process()
	_, grant := b.claim(rt, refund("12"))
	if err := rt.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	answer, again := b.claim(b.rt, refund("12"))
	if again != nil {
		t.Fatal("shutting down made the operation runnable")
	}
	b.want(answer, deed.Uncertain, deed.ReasonOutcomeUnknown, 0)
	late := b.settle(rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess})
	if late.Operation.Status != deed.StatusCommitted {
		t.Errorf("a result that came while closing left it %s", late.Operation.Status)
	}
	if _, _, err := rt.Claim(context.Background(), refund("12")); !errors.Is(err, deed.ErrClosed) {
		t.Errorf("a closed Runtime: %v", err)
	}
}

func TestACallerThatLeftBeforeBeginLeavesNothing(t *testing.T) {
	b := newRig(t, nil)
	ctx, leave := context.WithCancel(context.Background())
	leave()
	_, grant, err := b.rt.Claim(ctx, refund("12"))
	if grant != nil || !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, %v", grant, err)
	}
	page, err := b.rt.List(context.Background(), agent, deed.Query{})
	if err != nil || len(page.Operations) != 0 {
		t.Errorf("%d operations, %v", len(page.Operations), err)
	}
	b.want(b.do(refund("12")), deed.Execute, "", 1)
}
