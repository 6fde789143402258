// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"bytes"
	"context"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// Scenario is one story about one operation.
type Scenario struct {
	Name string
	// Asks is the question in plain words.
	Asks string
	// Requests and Effects are what the provider must have counted at the end.
	Requests, Effects int
	// AtMost makes the counts upper bounds.
	AtMost bool
	// Doors limits the scenario to these doors; empty means every door.
	Doors []Door

	play func(ctx context.Context, st *stage) error
}

// committed and known are what the first call of most stories must give.
const (
	committed = "execute/committed"
	unknown   = "execute/uncertain"
)

// Scenarios returns the built-in suite. Each scenario has a provider ledger, a
// gateway ledger and processes of its own.
func Scenarios() []Scenario {
	return []Scenario{
		{Name: "first-call", Asks: "does the first attempt commit exactly once, with key, fingerprint and receipt?",
			Requests: 1, Effects: 1, play: playFirstCall},
		{Name: "replay", Asks: "does the same call get the stored answer, byte for byte, also after a restart?",
			Requests: 1, Effects: 1, play: playReplay},
		{Name: "redelivery", Asks: "does a message that is delivered ten times act once?",
			Requests: 1, Effects: 1, play: playRedelivery},
		{Name: "lost-reply", Asks: "is an effect whose answer was lost held as uncertain and never repeated?",
			Requests: 1, Effects: 1, play: loss(provider.CommitDrop)},
		{Name: "cut-reply", Asks: "is half an answer treated as no answer?",
			Requests: 1, Effects: 1, play: loss(provider.HalfJSON)},
		{Name: "error-after-commit", Asks: "is a 503 after the effect held as uncertain?",
			Requests: 1, Effects: 1, play: loss(provider.Commit5xx)},
		{Name: "not-found-after-commit", Asks: "is a lost session after the effect held as uncertain?",
			Requests: 1, Effects: 1, play: loss(provider.Commit404)},
		{Name: "timeout", Asks: "does a provider that never answers leave one uncertain effect?",
			Requests: 1, Effects: 1, play: loss(provider.CommitHang)},
		{Name: "fresh-key", Asks: "is the same unresolved effect refused under a fresh key?",
			Requests: 1, Effects: 1, play: playFreshKey},
		{Name: "crash", Asks: "after kill -9 between effect and answer, does a restarted gateway send nothing again?",
			Requests: 1, Effects: 1, play: playCrash},
		{Name: "crash-before-effect", Asks: "after kill -9 with the call on its way, is the late effect the only one?",
			Requests: 1, Effects: 1, play: playCrashBeforeEffect},
		{Name: "burst", Asks: "do fifty equal calls at once act once?",
			Requests: 1, Effects: 1, play: playBurst},
		{Name: "conflict", Asks: "is a reused key with other arguments refused?",
			Requests: 1, Effects: 1, play: playConflict},
		{Name: "conflict-while-uncertain", Asks: "is it also refused while the first effect is unresolved?",
			Requests: 1, Effects: 1, play: playConflictWhileUncertain},
		{Name: "not-sent", Asks: "may a call that never left be repeated under its key?",
			Requests: 1, Effects: 1, play: playNotSent,
			// A dying child may still swallow a line, so only a refused connection
			// is a call that certainly never left.
			Doors: []Door{HTTP}},
		{Name: "refused", Asks: "is a refusal before any effect told as failed, and remembered?",
			Requests: 1, Effects: 0, play: playRefused},
	}
}

func playFirstCall(ctx context.Context, st *stage) error {
	step := st.call(ctx, st.own(), committed)
	op := step.Result.Operation
	if op == nil {
		return nil
	}
	if op.Key != st.key || op.ID == "" || op.Fingerprint == "" || op.Provenance != "runtime" || op.Attempt != 1 {
		st.problem("the answer does not name key, operation, fingerprint, provenance and attempt: %+v", *op)
	}
	if len(op.Receipt) == 0 || bytes.Equal(op.Receipt, []byte("null")) {
		st.problem("the answer carries no receipt")
	}
	return nil
}

func playReplay(ctx context.Context, st *stage) error {
	first := st.call(ctx, st.own(), committed)
	st.sameAnswer(first, st.call(ctx, st.own(), "replay"))
	if err := st.restart(ctx); err != nil {
		return err
	}
	st.sameAnswer(first, st.call(ctx, st.own(), "replay"))
	return nil
}

// sameAnswer checks that a replay shows the stored result and says what it is.
func (st *stage) sameAnswer(first, replay Step) {
	a, b := first.Result, replay.Result
	if a.Operation == nil || b.Operation == nil {
		return
	}
	if !bytes.Equal(a.Structured, b.Structured) {
		st.problem("the replayed result differs: %s, first %s", b.Structured, a.Structured)
	}
	if !bytes.Equal(a.Operation.Receipt, b.Operation.Receipt) || a.Operation.ID != b.Operation.ID {
		st.problem("the replayed receipt differs: %s, first %s", b.Operation.Receipt, a.Operation.Receipt)
	}
	if !b.Operation.Replayed {
		st.problem("the replay does not say that it is one")
	}
}

func playRedelivery(ctx context.Context, st *stage) error {
	st.call(ctx, st.own(), committed)
	for range 9 {
		st.call(ctx, st.own(), "replay")
	}
	return nil
}

// loss plays an effect whose answer does not come back whole, then a repetition
// before and after a restart.
func loss(kind provider.FaultKind) func(context.Context, *stage) error {
	return func(ctx context.Context, st *stage) error {
		if err := st.fault(ctx, kind); err != nil {
			return err
		}
		st.call(ctx, st.own(), unknown)
		st.call(ctx, st.own(), "uncertain")
		if err := st.fixture.Release(ctx, ""); err != nil {
			return err
		}
		if err := st.restart(ctx); err != nil {
			return err
		}
		st.settled(ctx, st.own(), "uncertain")
		return nil
	}
}

func playFreshKey(ctx context.Context, st *stage) error {
	if err := st.fault(ctx, provider.CommitDrop); err != nil {
		return err
	}
	st.call(ctx, st.own(), unknown)
	step := st.call(ctx, st.charge(st.key+":again", 100), "uncertain")
	if step.Reason() != "twin_unresolved" {
		st.problem("the fresh key was answered with reason %q, want twin_unresolved", step.Reason())
	}
	return nil
}

func playCrash(ctx context.Context, st *stage) error {
	if err := st.fault(ctx, provider.CommitHang); err != nil {
		return err
	}
	answer := st.inFlight(ctx, st.own())
	if _, err := st.fixture.Effects(ctx, provider.Selection{Op: st.op, AtLeast: 1}); err != nil {
		return err
	}
	st.running.Kill()
	st.note(answer(), "no answer")
	if err := st.fixture.Release(ctx, ""); err != nil {
		return err
	}
	if err := st.start(ctx); err != nil {
		return err
	}
	st.settled(ctx, st.own(), "uncertain")
	st.call(ctx, st.own(), "uncertain")
	return nil
}

func playCrashBeforeEffect(ctx context.Context, st *stage) error {
	if err := st.fault(ctx, provider.Hang); err != nil {
		return err
	}
	answer := st.inFlight(ctx, st.own())
	if err := st.fixture.AwaitHeld(ctx, "pay.charge", 1); err != nil {
		return err
	}
	st.running.Kill()
	st.note(answer(), "no answer")
	if err := st.start(ctx); err != nil {
		return err
	}
	st.settled(ctx, st.own(), "uncertain")
	if err := st.fixture.Release(ctx, ""); err != nil {
		return err
	}
	if _, err := st.fixture.Effects(ctx, provider.Selection{Op: st.op, AtLeast: 1}); err != nil {
		return err
	}
	st.call(ctx, st.own(), "uncertain")
	return nil
}

func playBurst(ctx context.Context, st *stage) error {
	const n = 50
	st.burst(ctx, n, st.own())
	return nil
}

// burst makes n equal calls at once, of which one must be executed.
func (st *stage) burst(ctx context.Context, n int, c caller.Call) []Step {
	executed := 0
	steps := st.together(ctx, n, c)
	for _, step := range steps {
		st.note(step, "in_progress|replay|"+committed)
		if step.String() == committed {
			executed++
		}
	}
	if executed != 1 {
		st.problem("%d of %d equal calls were executed, want 1", executed, n)
	}
	return steps
}

func playConflict(ctx context.Context, st *stage) error {
	st.call(ctx, st.own(), committed)
	st.call(ctx, st.charge(st.key, 999), "conflict")
	st.call(ctx, st.own(), "replay")
	return nil
}

func playConflictWhileUncertain(ctx context.Context, st *stage) error {
	if err := st.fault(ctx, provider.CommitDrop); err != nil {
		return err
	}
	st.call(ctx, st.own(), unknown)
	st.call(ctx, st.charge(st.key, 999), "conflict")
	st.call(ctx, st.own(), "uncertain")
	return nil
}

func playNotSent(ctx context.Context, st *stage) error {
	if err := st.fault(ctx, provider.RefuseConn); err != nil {
		return err
	}
	st.call(ctx, st.own(), "execute/failed")
	if err := st.fixture.Release(ctx, ""); err != nil {
		return err
	}
	return st.untilExecuted(ctx)
}

func playRefused(ctx context.Context, st *stage) error {
	if err := st.fault(ctx, provider.Reject4xx); err != nil {
		return err
	}
	st.call(ctx, st.own(), "execute/failed")
	st.call(ctx, st.own(), "failed")
	return nil
}
