// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/server"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/policy"
)

// tools calls the configured upstreams for /v1: one session with each, opened
// at the first call and shared by all callers. Close it after the last call.
type tools struct {
	gate      *mcpgate.Gate
	upstreams map[string]mcpgate.Upstream
	programs  map[string]policy.Program

	mu    sync.Mutex
	lines map[string]*line
}

// line is the session with one upstream: a Link that is ready once its session
// has been opened.
type line struct {
	mcpgate.Link
	mu     sync.Mutex
	modern bool
	ready  bool
}

// Ready implements mcpgate.Link.
func (l *line) Ready(ctx context.Context) error {
	if err := l.open(ctx); err != nil {
		return err
	}
	return l.Link.Ready(ctx)
}

func newTools(gate *mcpgate.Gate, upstreams map[string]mcpgate.Upstream, programs map[string]policy.Program) *tools {
	return &tools{gate: gate, upstreams: upstreams, programs: programs, lines: map[string]*line{}}
}

// Call implements server.Tools.
func (t *tools) Call(ctx context.Context, call deed.Call) (deed.Answer, error) {
	upstream, known := t.upstreams[call.Tool.Upstream()]
	if !known {
		why := "no upstream of that name is configured here"
		if _, own := t.programs[call.Tool.Upstream()]; own {
			why = "its program runs it, and asks for that by POST /v1/claims"
		}
		return deed.Answer{}, fmt.Errorf("%s: %w to call: %s; nothing was done", call.Tool, server.ErrUnknownTool, why)
	}
	l := t.line(call.Tool.Upstream(), upstream)
	// An operation that is recorded is answered whether the upstream can be
	// reached or not: Ready says it again before anything is sent.
	_ = l.open(ctx)
	return t.gate.Run(ctx, l, l.meta(), call)
}

// open returns the session with an upstream, and the _meta that requests in it
// carry.
func (t *tools) open(ctx context.Context, name string) (*line, json.RawMessage, error) {
	upstream, known := t.upstreams[name]
	if !known {
		return nil, nil, errUnreachable
	}
	l := t.line(name, upstream)
	if err := l.open(ctx); err != nil {
		return nil, nil, err
	}
	return l, l.meta(), nil
}

func (t *tools) line(name string, upstream mcpgate.Upstream) *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[name]
	if l == nil {
		l = &line{Link: upstream.Open(func(e mcpgate.Event) {
			if e.Message.Method == "notifications/tools/list_changed" {
				t.gate.Changed(name)
			}
		}, true)}
		t.lines[name] = l
	}
	return l
}

// Close ends the sessions.
func (t *tools) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, l := range t.lines {
		errs = append(errs, l.Link.Close())
	}
	return errors.Join(errs...)
}

// openWithin bounds the handshake with an upstream.
const openWithin = 20 * time.Second

// open opens the session once: by the handshake of the session eras, or, where
// the server knows none, as one of MCP 2026-07-28. The link repeats the
// handshake by itself when the server starts anew.
func (l *line) open(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ready {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openWithin)
	defer cancel()
	talk := listing{ctx: ctx, link: l.Link}
	const hello = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"deed","version":"1"}}`
	_, err := talk.request("initialize", json.RawMessage(hello))
	switch {
	case err == nil:
		if notice, err := mcpgate.ParseMessage([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err == nil {
			l.Link.Send(ctx, &mcpgate.Exchange{Message: notice})
		}
	case errors.Is(err, errAnswered):
		l.modern = true
	default:
		return err
	}
	l.ready = true
	return nil
}

func (l *line) meta() json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.modern {
		return nil
	}
	return json.RawMessage(modernMeta)
}
