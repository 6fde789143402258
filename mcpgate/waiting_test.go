// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/storetest"
)

// heldUpstream answers when the test says so, in memory.
type heldUpstream struct {
	mu    sync.Mutex
	calls []*mcpgate.Exchange
	heard []mcpgate.Message
	ctxs  []context.Context
	came  chan struct{}
	ready error
	sink  func(mcpgate.Event)
	// results are answers by method; the tool list otherwise.
	results map[string]string
}

func newHeld() *heldUpstream { return &heldUpstream{came: make(chan struct{}, 100)} }

func (u *heldUpstream) Open(sink func(mcpgate.Event), _ bool) mcpgate.Link {
	u.sink = sink
	return u
}

func (u *heldUpstream) Ready(context.Context) error { return u.ready }

func (u *heldUpstream) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, x := range u.calls {
		x.Done(mcpgate.Reply{Delivery: mcpgate.Sent, Err: mcpgate.ErrUpstreamClosed})
	}
	u.calls = nil
	return nil
}

func (u *heldUpstream) Send(ctx context.Context, x *mcpgate.Exchange) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.heard = append(u.heard, x.Message)
	switch {
	case x.Message.Method == "tools/call":
		if x.Gate != nil {
			if _, err := x.Gate(); err != nil {
				x.Done(mcpgate.Reply{Delivery: mcpgate.Unsent, Err: err})
				return
			}
		}
		u.calls, u.ctxs = append(u.calls, x), append(u.ctxs, ctx)
		u.came <- struct{}{}
	case x.Message.IsRequest():
		result := u.results[x.Message.Method]
		if result == "" {
			result = hostileTools
		}
		x.Done(mcpgate.Reply{Delivery: mcpgate.Answered, Message: mcpgate.ResultMessage(x.Message.ID, []byte(result))})
	}
}

// answer ends the oldest held call.
func (u *heldUpstream) answer(result string) {
	x := u.oldest()
	x.Done(mcpgate.Reply{Delivery: mcpgate.Answered, Message: mcpgate.ResultMessage(x.Message.ID, []byte(result))})
}

// refuse ends the oldest held call with an error.
func (u *heldUpstream) refuse(text string) {
	x := u.oldest()
	m, err := mcpgate.ParseMessage([]byte(`{"jsonrpc":"2.0","id":` + string(x.Message.ID) + `,"error":` + text + `}`))
	if err != nil {
		panic(err)
	}
	x.Done(mcpgate.Reply{Delivery: mcpgate.Answered, Message: m})
}

func (u *heldUpstream) oldest() *mcpgate.Exchange {
	u.mu.Lock()
	defer u.mu.Unlock()
	x := u.calls[0]
	u.calls = u.calls[1:]
	return x
}

func (u *heldUpstream) count(method string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	for _, m := range u.heard {
		if m.Method == method {
			n++
		}
	}
	return n
}

// held is a guarded client of a held upstream on a clock that stands still.
func held(t *testing.T, policy deed.Policy, edit func(*mcpgate.GateOptions)) (*lineClient, *heldUpstream, *storetest.Clock, house) {
	t.Helper()
	clock := storetest.NewClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	h := build(t, clock, policy, edit)
	u := newHeld()
	c := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: tester, Guard: h.gate, Drain: time.Millisecond})
	return c, u, clock, h
}

// until waits for something that another goroutine is about to make true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 60000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%s did not come", what)
}

const addCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:first"}%s}}`

const doneResult = `{"content":[{"type":"text","text":"done"}],"structuredContent":{"id":"T-9"}}`

func (h house) status(t *testing.T) deed.Status {
	t.Helper()
	return h.newest(t).Status
}

func (h house) newest(t *testing.T) *deed.Operation {
	t.Helper()
	page, err := h.runtime.List(context.Background(), tester, deed.Query{})
	if err != nil || len(page.Operations) == 0 {
		t.Fatalf("%v, %v", page, err)
	}
	return page.Operations[0]
}

func TestALongCallIsAnsweredInProgressAndGoesOn(t *testing.T) {
	c, u, clock, h := held(t, hints(nil), nil)
	c.send(addCall, 1, "")
	<-u.came
	until(t, "the timer of answer_within", func() bool { return clock.WaitingFor(50*time.Second) > 0 })
	clock.Advance(51 * time.Second)
	line := c.reply("1")
	mustDecide(t, line, map[string]any{"decision": "in_progress", "reason": "lease_live"})
	mustContain(t, line, "Still running since", "call once more with the same key")
	u.answer(doneResult)
	until(t, "the commit", func() bool { return h.status(t) == deed.StatusCommitted })
	c.send(addCall, 2, "")
	mustDecide(t, c.reply("2"), map[string]any{"decision": "replay", "reason": "stored"})
	if n := u.count("tools/call"); n != 1 {
		t.Errorf("the upstream received %d calls", n)
	}
}

func TestAWaitingClientHearsProgress(t *testing.T) {
	c, u, clock, _ := held(t, hints(nil), nil)
	c.send(addCall, 1, `,"_meta":{"progressToken":"tok"}`)
	<-u.came
	for range 2 {
		until(t, "the timer of the progress", func() bool { return clock.WaitingFor(15*time.Second) > 0 })
		clock.Advance(15 * time.Second)
		mustContain(t, c.next(), `"method":"notifications/progress"`, `"progressToken":"tok"`, "still running")
	}
	u.answer(doneResult)
	mustDecide(t, c.reply("1"), map[string]any{"status": "committed"})
}

func TestACancelledCallEndsTheCallOnly(t *testing.T) {
	c, u, _, h := held(t, hints(nil), nil)
	c.send(addCall, 1, "")
	<-u.came
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"user"}}`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	c.reply("2")
	if got := h.status(t); got != deed.StatusExecuting {
		t.Errorf("the operation is %s", got)
	}
	if u.count("notifications/cancelled") != 0 || u.ctxs[0].Err() != nil {
		t.Error("the upstream was told to cancel a mutation")
	}
	u.answer(doneResult)
	until(t, "the commit", func() bool { return h.status(t) == deed.StatusCommitted })
	c.send(addCall, 3, "")
	mustDecide(t, c.reply("3"), map[string]any{"decision": "replay"})
}

func TestABrokenHTTPClientCancelsNoMutation(t *testing.T) {
	clock := storetest.NewClock(time.Now())
	h := build(t, clock, hints(nil), nil)
	u := newHeld()
	requests := make(chan context.Context, 10)
	url := serveHTTP(t, mcpgate.HTTPOptions{
		Upstreams: map[string]mcpgate.Upstream{"held": u}, Guard: h.gate,
		Principal: func(r *http.Request) (deed.Principal, error) {
			requests <- r.Context()
			return tester, nil
		},
	}) + "/mcp/held"
	session := post(t, url, initializeBody).header.Get("Mcp-Session-Id")
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:first"}}}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Mcp-Session-Id", session)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		left <- err
	}()
	<-u.came
	leave()
	if err := <-left; err == nil {
		t.Fatal("the client did not leave")
	}
	<-requests
	<-(<-requests).Done() // the server has noticed
	if u.ctxs[0].Err() != nil || h.status(t) != deed.StatusExecuting {
		t.Error("the mutation was cancelled")
	}
	u.answer(doneResult)
	until(t, "the commit", func() bool { return h.status(t) == deed.StatusCommitted })
	// The receipt was handed to nobody: an equal call under a fresh key of a model is answered with it.
	got := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:again"}}}`, "Mcp-Session-Id", session)
	mustDecide(t, got.body, map[string]any{"decision": "replay", "reason": "twin_undelivered"})
}

func TestATimeOutIsUncertainAndALateAnswerCounts(t *testing.T) {
	policy := hints(func(r *deed.Rule) { r.AnswerWithin = 2 * time.Hour })
	c, u, clock, h := held(t, policy, nil)
	c.send(addCall, 1, "")
	<-u.came
	until(t, "the timer of the time-out", func() bool { return clock.WaitingFor(10*time.Minute) > 0 })
	// Leases are renewed on the way, as they are in life.
	for range 70 {
		clock.Advance(9 * time.Second)
		until(t, "the renewal", func() bool {
			op := h.newest(t)
			return op.Status != deed.StatusExecuting || op.LeaseExpiresAt.Sub(clock.Now()) > 20*time.Second
		})
	}
	line := c.reply("1")
	mustDecide(t, line, map[string]any{"decision": "execute", "status": "uncertain", "reason": "outcome_unknown"})
	u.answer(doneResult)
	until(t, "the late commit", func() bool { return h.status(t) == deed.StatusCommitted })
	c.send(addCall, 2, "")
	mustDecide(t, c.reply("2"), map[string]any{"decision": "replay"})
}

func TestNothingLeavesAfterSendBy(t *testing.T) {
	clock := storetest.NewClock(time.Now())
	h := build(t, clock, hints(nil), nil)
	u := &slowReady{heldUpstream: newHeld(), clock: clock}
	c := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: tester, Guard: h.gate, Drain: time.Millisecond})
	c.send(addCall, 1, "")
	mustDecide(t, c.reply("1"), map[string]any{"decision": "execute", "status": "failed", "reason": "not_sent"})
}

// slowReady takes longer to become ready than an attempt may take to be sent.
type slowReady struct {
	*heldUpstream
	clock *storetest.Clock
}

func (u *slowReady) Open(func(mcpgate.Event), bool) mcpgate.Link { return u }

func (u *slowReady) Ready(context.Context) error {
	u.clock.Advance(31 * time.Second)
	return nil
}

func TestAnUpstreamThatDoesNotAnswerPingIsSentNothing(t *testing.T) {
	c, u, _, _ := held(t, hints(nil), nil)
	u.ready = errors.New("ping: no answer")
	c.send(addCall, 1, "")
	mustDecide(t, c.reply("1"), map[string]any{"status": "failed", "reason": "not_sent"})
	if n := u.count("tools/call"); n != 0 {
		t.Errorf("the upstream received %d calls", n)
	}
}

func TestSeventyEqualCallsHappenOnce(t *testing.T) {
	policy := hints(func(r *deed.Rule) { r.Repeat = deed.Limit{} })
	c, u, _, h := held(t, policy, nil)
	const n = 70
	for i := range n {
		c.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add","arguments":{"n":1},"_meta":{"claudecode/toolUseId":"toolu_%d"}}}`, i, i)
	}
	<-u.came
	until(t, "the last of the others", func() bool { return h.store.waiting.Load() == n-1 })
	u.answer(doneResult)
	decisions := map[any]int{}
	for range n {
		line := c.next()
		mustContain(t, line, `{"type":"text","text":"done"}`)
		decisions[verdict(t, line)["decision"]]++
	}
	if decisions["execute"] != 1 || decisions["replay"] != n-1 || u.count("tools/call") != 1 {
		t.Errorf("decisions %v, %d calls received", decisions, u.count("tools/call"))
	}
}
