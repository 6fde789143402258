// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"sync"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// What a step can be; see faultkit.Step.
const (
	committed  = "execute/committed"
	unknown    = "execute/uncertain"
	failed     = "execute/failed"
	replay     = "replay"
	uncertain  = "uncertain"
	inProgress = "in_progress"
)

// object is JSON as it is to be sent.
type object = map[string]any

func raw(v any) json.RawMessage {
	if text, ok := v.(string); ok {
		return json.RawMessage(text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

// keyed is a call of a runtime that names the action.
func keyed(key, tool string, arguments any) caller.Call {
	return caller.Call{Tool: tool, Arguments: raw(arguments), Meta: object{"deed/idempotency-key": key}}
}

// charge is a call about one order.
func charge(key, order string, amount any) caller.Call {
	return keyed(key, "pay.charge", object{"order_id": order, "amount": amount})
}

// send makes a call in a session.
func (w *world) send(s caller.Session, c caller.Call) faultkit.Step {
	result, err := caller.CallTool(w.Context(), s, c)
	return faultkit.Step{Result: result, Err: err}
}

// call makes a call that must be answered as one of the alternatives in want.
func (w *world) call(c caller.Call, want string) faultkit.Step {
	w.Helper()
	step := w.send(w.running, c)
	w.is(step, want)
	return step
}

// is compares a step with alternatives such as "in_progress|replay", each of
// which may end in the reason: "uncertain:twin_unresolved".
func (w *world) is(step faultkit.Step, want string) {
	w.Helper()
	for _, one := range strings.Split(want, "|") {
		decision, reason, _ := strings.Cut(one, ":")
		if step.String() == decision && (reason == "" || reason == step.Reason()) {
			return
		}
	}
	w.Errorf("want %s, got %s (%s) %v %q", want, step, step.Reason(), step.Err, step.Result.Texts)
}

// together makes equal calls at once, spread over the sessions.
func (w *world) together(n int, call func(i int) caller.Call, sessions ...caller.Session) []faultkit.Step {
	steps := make([]faultkit.Step, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { steps[i] = w.send(sessions[i%len(sessions)], call(i)) })
	}
	calls.Wait()
	return steps
}

// oneOf checks that exactly one step is first and all others are among the rest.
func (w *world) oneOf(steps []faultkit.Step, first, rest string) {
	w.Helper()
	n := 0
	for _, step := range steps {
		if step.String() == first {
			n++
			continue
		}
		w.is(step, rest)
	}
	if n != 1 {
		w.Errorf("%d of %d calls were %s, want 1", n, len(steps), first)
	}
}

// counted checks the provider's own books: received requests and effects that
// concern one business id.
func (w *world) counted(op string, requests, effects int) {
	w.Helper()
	r, e := w.books(op)
	if r != requests || e != effects {
		w.Errorf("%s: the provider received %d requests and made %d effects, want %d and %d", op, r, e, requests, effects)
	}
}

func (w *world) books(op string) (requests, effects int) {
	w.Helper()
	r, err := w.fixture.Requests(w.Context(), provider.Selection{Op: op})
	w.must(err)
	e, err := w.fixture.Effects(w.Context(), provider.Selection{Op: op})
	w.must(err)
	return len(r), len(e)
}

// recorded is an operation as "deed ops" shows it.
type recorded struct {
	ID        string `json:"operation_id"`
	Key       string `json:"idempotency_key"`
	Tool      string `json:"tool"`
	Status    string `json:"status"`
	Effective string `json:"effective_status"`
	Reason    string `json:"reason"`
	Attempt   int    `json:"attempt"`
	Receipt   *struct {
		RemoteID      string `json:"remote_id"`
		EstablishedBy string `json:"established_by"`
	} `json:"receipt"`
	Approval struct {
		Digest  string `json:"digest"`
		SpentAt string `json:"spent_at"`
	} `json:"approval"`
	Events []struct {
		Name string `json:"name"`
	} `json:"events"`
}

// ops runs "deed ops" beside the gateway and returns what it printed.
func (w *world) ops(args ...string) []byte {
	w.Helper()
	out, err := w.tryOps(args...)
	if err != nil {
		w.Fatalf("deed ops %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *world) tryOps(args ...string) ([]byte, error) {
	cmd := exec.Command(w.gateway.Binary, append([]string{"ops", "--json", "--config", w.gateway.Config}, args...)...)
	if w.offset != 0 {
		cmd.Env = append(cmd.Environ(), "DEED_CLOCK_OFFSET="+w.offset.String())
	}
	return cmd.Output()
}

// list returns the recorded operations of a status; all of them for "".
func (w *world) list(status string) []recorded {
	w.Helper()
	args := []string{"list", "--limit", "1000"}
	if status != "" {
		args = append(args, "--status", status)
	}
	var page struct {
		Operations []recorded `json:"operations"`
	}
	w.must(json.Unmarshal(w.ops(args...), &page))
	return page.Operations
}

// shown returns one recorded operation with its history.
func (w *world) shown(id string) recorded {
	w.Helper()
	var op recorded
	w.must(json.Unmarshal(w.ops("show", id), &op))
	return op
}
