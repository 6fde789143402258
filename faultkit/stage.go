// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/internal/loopback"
)

// stage is where one scenario plays: a provider, a gateway that may be killed and
// started again on the same ledger, and the notes for the report.
type stage struct {
	fixture *Fixture
	gateway Gateway
	// port is the gateway's over HTTP; nil over stdio.
	port *loopback.Port
	// op is the business id of the scenario's own operation, key its name.
	op, key string

	running *Running
	steps   []string
	wrong   []string
}

// charge is the call of the scenario; amount tells two payloads apart.
func (st *stage) charge(key string, amount int) caller.Call {
	return keyed(key, "pay.charge", json.RawMessage(fmt.Sprintf(`{"order_id":%q,"amount":%d}`, st.op, amount)))
}

// own is the scenario's usual call.
func (st *stage) own() caller.Call { return st.charge(st.key, 100) }

// start starts the gateway, for the first time or again.
func (st *stage) start(ctx context.Context) error {
	running, err := st.gateway.Start(ctx)
	st.running = running
	return err
}

// restart ends the gateway properly and starts it again.
func (st *stage) restart(ctx context.Context) error {
	if err := st.running.Close(); err != nil {
		return err
	}
	return st.start(ctx)
}

func (st *stage) stop() error {
	if st.running == nil {
		return nil
	}
	return st.running.Close()
}

// clear ends what the gateway, which is gone, had needed.
func (st *stage) clear() error {
	if st.port == nil {
		return st.fixture.Close()
	}
	return errors.Join(st.fixture.Close(), st.port.Close())
}

// call makes a call and notes the step; a step that matches no alternative of
// want is a problem.
func (st *stage) call(ctx context.Context, c caller.Call, want string) Step {
	step := send(ctx, st.running, c)
	st.note(step, want)
	return step
}

// settled repeats a call until it is no longer in progress.
func (st *stage) settled(ctx context.Context, c caller.Call, want string) Step {
	steps := settle(ctx, st.running, c)
	for _, step := range steps[:len(steps)-1] {
		st.steps = append(st.steps, step.String())
	}
	last := steps[len(steps)-1]
	st.note(last, want)
	return last
}

func (st *stage) note(step Step, want string) {
	st.steps = append(st.steps, step.String())
	if step.matches(want) {
		return
	}
	seen := step.String()
	if reason := step.Reason(); reason != "" {
		seen += " (" + reason + ")"
	}
	if step.Err != nil {
		seen += ": " + step.Err.Error()
	}
	st.problem("answer %d: want %s, got %s", len(st.steps), want, seen)
}

func (st *stage) problem(format string, values ...any) {
	st.wrong = append(st.wrong, fmt.Sprintf(format, values...))
}

// together makes n equal calls at once. The steps are ordered by what came back:
// who was first is chance.
func (st *stage) together(ctx context.Context, n int, c caller.Call) []Step {
	steps := make([]Step, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { steps[i] = send(ctx, st.running, c) })
	}
	calls.Wait()
	slices.SortFunc(steps, func(a, b Step) int { return strings.Compare(a.String(), b.String()) })
	return steps
}

// untilExecuted repeats the scenario's call, which was proved not to have been
// sent, until the gateway lets it go.
func (st *stage) untilExecuted(ctx context.Context) error {
	for {
		step := send(ctx, st.running, st.own())
		if step.String() != "failed" || step.Reason() != "retry_later" {
			st.note(step, committed)
			return nil
		}
		st.steps = append(st.steps, step.String())
		if err := pause(ctx, step); err != nil {
			return err
		}
	}
}

// fault orders the provider to misbehave at the next call.
func (st *stage) fault(ctx context.Context, kind provider.FaultKind) error {
	return st.fixture.SetFaults(ctx, provider.Fault{Fault: kind, Times: 1})
}

// inFlight sends a call from a goroutine and returns a function that waits for
// its step.
func (st *stage) inFlight(ctx context.Context, c caller.Call) (wait func() Step) {
	done := make(chan Step, 1)
	session := st.running.Session
	go func() { done <- send(ctx, session, c) }()
	return func() Step { return <-done }
}

// finish counts at the provider and judges. The limit is how often the
// operation may take effect.
func (st *stage) finish(ctx context.Context, s Scenario, played error) Row {
	row := Row{Scenario: s.Name, Asks: s.Asks, Decisions: st.steps, Requests: Unknown, Effects: Unknown}
	requests, err := st.fixture.Requests(ctx, provider.Selection{Op: st.op})
	effects, other := st.fixture.Effects(ctx, provider.Selection{Op: st.op})
	if err = errors.Join(played, err, other); err != nil {
		row.Verdict, row.Problems = Broken, append(st.wrong, err.Error())
		return row
	}
	row.Requests, row.Effects = len(requests), len(effects)
	if row.Requests > s.Requests || row.Requests < s.Requests && !s.AtMost {
		st.problem("the provider received %d requests, want %d", row.Requests, s.Requests)
	}
	if row.Effects > s.Effects || row.Effects < s.Effects && !s.AtMost {
		st.problem("%d effects at the provider, want %d", row.Effects, s.Effects)
	}
	row.Problems = st.wrong
	switch {
	case row.Effects > s.Effects:
		row.Verdict = Duplicated
	case len(st.wrong) > 0:
		row.Verdict = Wrong
	default:
		row.Verdict = Pass
	}
	return row
}

// ledgerPath is the gateway's ledger file in a scenario's directory.
func ledgerPath(dir string) string { return filepath.Join(dir, "ledger.db") }
