// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
	"github.com/deed-run/deed/outcome"
)

// ErrNotReadOnly: the tool may change things, so that nothing is looked up with it.
var ErrNotReadOnly = errors.New("the tool is not read-only")

// probeWithin bounds one read of the gateway's own.
const probeWithin = 20 * time.Second

// Probe calls a read-only tool for the gateway itself, over a link on which the session has been opened, and returns its CallToolResult as the
// upstream wrote it. meta, when not nil, is the _meta of the request. It records nothing and counts for nobody's rate.
//
// A tool that is read-only neither by its rule nor by a hint that is pinned is not called (ErrNotReadOnly). A result that is marked as an
// error, a question, a task, an answer that was cut and one that does not come within 20 s are errors: they tell nothing of what was looked
// for.
func (g *Gate) Probe(ctx context.Context, link Link, meta json.RawMessage, tool deed.Tool, arguments []byte) ([]byte, error) {
	return g.probe(ctx, newSession(tool.Upstream(), "", deed.Principal{}, link, g), meta, tool, arguments)
}

func (g *Gate) probe(ctx context.Context, s *Session, meta json.RawMessage, tool deed.Tool, arguments []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	params, err := paramsOf(deed.Call{Tool: tool, Arguments: arguments}, meta)
	if err != nil {
		return nil, fmt.Errorf("look up with %s: %w; nothing was sent", tool, err)
	}
	d := g.find(ctx, s, tool.Name(), nil, params)
	if err := g.reads(d); err != nil {
		return nil, fmt.Errorf("look up with %s: %w; nothing was sent", tool, err)
	}
	if err := s.Link.Ready(ctx); err != nil {
		return nil, fmt.Errorf("look up with %s: %w", tool, err)
	}
	done := make(chan Reply, 1)
	s.Link.Send(ctx, &Exchange{
		Message: RequestMessage(g.ownID(), "tools/call", params), Header: mirror(nil, d.InputSchema, arguments),
		Event: func(Event) {}, Done: func(r Reply) { done <- r },
	})
	var r Reply
	select {
	case r = <-done:
	case <-ctx.Done():
		return nil, fmt.Errorf("look up with %s: no answer within %s: %w", tool, probeWithin, ctx.Err())
	}
	return evidence(tool, r)
}

// reads says why a tool cannot be looked up with, or nil.
func (g *Gate) reads(d *described) error {
	if d.facts.Quarantined {
		return errors.New("its definition changed since it was accepted")
	}
	facts := d.facts
	if d.unpinned || d.Raw == nil {
		facts.ReadOnlyHint = nil // a hint that nobody can compare with its pin is none
	}
	if g.policy.Rule(d.rule.Tool, facts).Mutates() {
		return fmt.Errorf("%w by its rule or by a pinned hint", ErrNotReadOnly)
	}
	return nil
}

// evidence is the result of a read that came to its end.
func evidence(tool deed.Tool, r Reply) ([]byte, error) {
	result := r.Message.Result
	switch {
	case r.Delivery != Answered || result == nil && r.Message.Error == nil:
		return nil, fmt.Errorf("look up with %s: no answer: %w", tool, orError(r.Err))
	case r.Message.Error != nil:
		text, _ := rawjson.Text(r.Message.Error, "message")
		return nil, fmt.Errorf("look up with %s: it answered with an error: %s", tool, plain(text, 200))
	case !rawjson.IsObject(result):
		return nil, fmt.Errorf("look up with %s: its result is no object", tool)
	case isErrorResult(result):
		return nil, &ReadError{Tool: tool, Result: result}
	}
	if kind := rawType(result); kind != "" && kind != "complete" {
		return nil, fmt.Errorf("look up with %s: it answered with %q, which is no result", tool, kind)
	}
	return result, nil
}

func orError(err error) error {
	if err == nil {
		return errors.New("the answer was no JSON-RPC reply")
	}
	return err
}

// ReadError is a result that the tool marked as an error.
type ReadError struct {
	Tool   deed.Tool
	Result []byte
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("look up with %s: the tool reported an error: %s", e.Tool, plain(outcome.Text(e.Result), 200))
}
