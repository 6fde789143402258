// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deed-run/deed/faultkit/caller"
)

// Step is one call and what came back, as the caller can tell.
type Step struct {
	Result caller.Result
	Err    error
}

// String is the decision, and for an executed call its outcome: "replay",
// "execute/committed", "execute/uncertain". "no answer" is a lost answer,
// "unrecorded" an answer without a word about an operation.
func (s Step) String() string {
	var rpc *caller.RPCError
	var status *caller.StatusError
	switch {
	case errors.Is(s.Err, caller.ErrNoAnswer):
		return "no answer"
	case errors.As(s.Err, &rpc):
		return fmt.Sprintf("rpc error %d", rpc.Code)
	case errors.As(s.Err, &status):
		return fmt.Sprintf("http %d", status.Status)
	case s.Err != nil:
		return "not sent"
	case s.Result.Operation == nil:
		return "unrecorded"
	case s.Result.Operation.Decision == "execute":
		return "execute/" + s.Result.Operation.Status
	}
	return s.Result.Operation.Decision
}

// Reason is the gateway's reason, or "".
func (s Step) Reason() string {
	if s.Result.Operation == nil {
		return ""
	}
	return s.Result.Operation.Reason
}

// matches compares with a pattern of alternatives: "in_progress|replay".
func (s Step) matches(pattern string) bool {
	for _, one := range strings.Split(pattern, "|") {
		if s.String() == one {
			return true
		}
	}
	return false
}

// keyed is a call under an idempotency key.
func keyed(key, tool string, arguments json.RawMessage) caller.Call {
	return caller.Call{Tool: tool, Arguments: arguments, Meta: map[string]any{"deed/idempotency-key": key}}
}

// send makes one call.
func send(ctx context.Context, s caller.Session, c caller.Call) Step {
	result, err := caller.CallTool(ctx, s, c)
	return Step{Result: result, Err: err}
}

// settle repeats the same call under the same key for as long as the gateway says
// that an attempt is in progress, at the pace that it asks for. It returns every
// step; the last one is the outcome.
func settle(ctx context.Context, s caller.Session, c caller.Call) []Step {
	var steps []Step
	for {
		step := send(ctx, s, c)
		steps = append(steps, step)
		if step.String() != "in_progress" {
			return steps
		}
		if pause(ctx, step) != nil {
			return steps
		}
	}
}

// pause waits as long as an answer asks for, within 50 ms and a second.
func pause(ctx context.Context, step Step) error {
	asked := time.Duration(step.Result.Operation.RetryAfter * float64(time.Second))
	timer := time.NewTimer(min(max(asked, 50*time.Millisecond), time.Second))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sequence writes steps with equal neighbours counted: "execute/committed, replay ×3".
func sequence(steps []string) string {
	var parts []string
	for i := 0; i < len(steps); {
		n := 1
		for i+n < len(steps) && steps[i+n] == steps[i] {
			n++
		}
		part := steps[i]
		if n > 1 {
			part = fmt.Sprintf("%s ×%d", part, n)
		}
		parts = append(parts, part)
		i += n
	}
	return strings.Join(parts, ", ")
}
