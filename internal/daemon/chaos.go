// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// Chaos is what deed mcp --chaos does to the answers of calls that have just
// been executed, so that people can watch what their own agent makes of it.
// Answers from the ledger always pass, so an agent that repeats a call under its
// key gets on.
type Chaos string

const (
	// ChaosNone leaves everything as it is.
	ChaosNone Chaos = ""
	// ChaosLoseReply keeps the answer from the client, which waits for it.
	ChaosLoseReply Chaos = "lose-reply"
	// ChaosDuplicate delivers the call twice.
	ChaosDuplicate Chaos = "dup"
	// ChaosCrash ends the process in place of the answer.
	ChaosCrash Chaos = "crash"
)

// ErrChaosCrash ends a gateway that plays a crash: nothing more may be done.
var ErrChaosCrash = errors.New("chaos: crashed in place of an answer")

// ParseChaos reads the word after --chaos.
func ParseChaos(word string) (Chaos, error) {
	switch c := Chaos(word); c {
	case ChaosNone, ChaosLoseReply, ChaosDuplicate, ChaosCrash:
		return c, nil
	}
	return ChaosNone, fmt.Errorf("--chaos: there is no %q; nothing was started; use lose-reply, dup or crash", word)
}

// disturb puts the chaos in front of a guard; crash is called at most once.
func (c Chaos) disturb(guard mcpgate.Guard, crash func()) mcpgate.Guard {
	if c == ChaosNone {
		return guard
	}
	return &disturbed{Guard: guard, chaos: c, crash: crash}
}

type disturbed struct {
	mcpgate.Guard
	chaos Chaos
	crash func()
}

// Call withholds an answer together with the note that it was delivered: the
// client surely did not get it.
func (d *disturbed) Call(ctx context.Context, call *mcpgate.ToolCall) (mcpgate.Message, func()) {
	answer, delivered := d.Guard.Call(ctx, call)
	if !executed(answer) {
		return answer, delivered
	}
	switch d.chaos {
	case ChaosDuplicate:
		_, _ = d.Guard.Call(ctx, call)
		return answer, delivered
	case ChaosCrash:
		d.crash()
		<-ctx.Done()
	}
	return mcpgate.Message{}, nil
}

// executed reports whether the answer is of a call that was sent just now.
func executed(answer mcpgate.Message) bool {
	var result struct {
		Meta struct {
			Operation struct {
				Decision deed.Decision `json:"decision"`
			} `json:"deed/operation"`
		} `json:"_meta"`
	}
	return json.Unmarshal(answer.Result, &result) == nil && result.Meta.Operation.Decision == deed.Execute
}
