// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/storetest"
)

// atOnce is a client that writes the session's opening and all calls in one write, before the gateway knows any tool.
func atOnce(t *testing.T, h house, calls []string) (*lineClient, string) {
	t.Helper()
	c, log := guarded(t, h)
	lines := append([]string{
		`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}, calls...)
	c.send("%s", strings.Join(lines, "\n"))
	c.reply(`"init"`)
	return c, log
}

func TestEqualCallsInOneWriteHappenOnce(t *testing.T) {
	const n = 70
	var calls []string
	for i := range n {
		calls = append(calls, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add","arguments":{"n":1},"_meta":{"claudecode/toolUseId":"toolu_%d"}}}`, i, i))
	}
	c, log := atOnce(t, build(t, nil, hints(func(r *deed.Rule) { r.Repeat = deed.Limit{} }), nil), calls)
	decisions := map[any]int{}
	for range n {
		decisions[verdict(t, c.next())["decision"]]++
	}
	if sent := received(t, log, "tools/call"); len(sent) != 1 || decisions["execute"] != 1 || decisions["replay"] != n-1 {
		t.Errorf("%d calls were sent, decisions %v", len(sent), decisions)
	}
	if asked := received(t, log, "tools/list"); len(asked) != 1 {
		t.Errorf("the upstream was asked for its list %d times", len(asked))
	}
}

func TestReadsInOneWriteNeedNoKey(t *testing.T) {
	var calls []string
	for i := range 5 {
		calls = append(calls, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get","arguments":{"z":1}}}`, i))
	}
	c, log := atOnce(t, build(t, nil, hints(nil), nil), calls)
	for range calls {
		mustContain(t, c.next(), `"result":`+hostileResult)
	}
	if sent := received(t, log, "tools/call"); len(sent) != len(calls) {
		t.Errorf("the upstream received %q", sent)
	}
}

// lateLedger keeps the second call from being looked at until the first is over.
type lateLedger struct {
	*deed.Runtime
	mu    sync.Mutex
	calls int
	first chan struct{}
	once  sync.Once
}

func (l *lateLedger) Claim(ctx context.Context, call deed.Call) (deed.Answer, *deed.Grant, error) {
	l.mu.Lock()
	l.calls++
	late := l.calls > 1
	l.mu.Unlock()
	if late {
		<-l.first
	}
	return l.Runtime.Claim(ctx, call)
}

func (l *lateLedger) Delivered(ctx context.Context, answer deed.Answer) {
	l.Runtime.Delivered(ctx, answer)
	l.once.Do(func() { close(l.first) })
}

func TestACallThatCameBesideItsTwinJoinsItHoweverLateItIsLookedAt(t *testing.T) {
	late := &lateLedger{first: make(chan struct{})}
	clock := storetest.NewClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	h := build(t, clock, hints(nil), nil)
	late.Runtime = h.runtime
	gate, err := mcpgate.NewGate(mcpgate.GateOptions{Ledger: late, Policy: hints(nil), Clock: clock, Log: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	u := newHeld()
	c := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: tester, Guard: gate, Drain: time.Millisecond})
	c.list("0")
	for id := 1; id <= 2; id++ {
		c.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:%d"}}}`, id, id)
	}
	<-u.came
	until(t, "the second call", func() bool { late.mu.Lock(); defer late.mu.Unlock(); return late.calls == 2 })
	clock.Advance(time.Second)
	u.answer(doneResult)
	answers := c.next() + c.next()
	mustContain(t, answers, `"decision":"execute"`, `"decision":"replay","reason":"twin_joined"`)
	if n := u.count("tools/call"); n != 1 {
		t.Errorf("the upstream received %d calls", n)
	}
}

// awayPins is a ledger whose settings cannot be read for a while.
type awayPins struct {
	mcpgate.Settings
	away  atomic.Bool
	tried atomic.Int32
}

func (p *awayPins) Setting(ctx context.Context, name string, update func([]byte) []byte) ([]byte, error) {
	if p.away.Load() {
		p.tried.Add(1)
		return nil, errors.New("another process has held its lock for too long")
	}
	return p.Settings.Setting(ctx, name, update)
}

func TestPinsThatCannotBeReadAreTriedOnceForAList(t *testing.T) {
	pins := &awayPins{}
	pins.away.Store(true)
	var logged []string
	c, u, _, _ := held(t, hints(nil), func(o *mcpgate.GateOptions) {
		pins.Settings = o.Pins.Settings
		o.Pins = &mcpgate.Pins{Settings: pins}
		o.Log = func(text string) { logged = append(logged, text) }
	})
	c.send(addCall, 1, "")
	mustDecide(t, c.reply("1"), map[string]any{"decision": "denied", "reason": "store_unavailable"})
	if n := pins.tried.Load(); n != 1 {
		t.Errorf("%d pins were tried", n)
	}
	if len(logged) != 1 {
		t.Errorf("logged %q", logged)
	}
	// Reading goes on; nothing that changes things does, until the pins are read.
	mustContain(t, answered(c, u, "2", `{"name":"get"}`), "done")
	c.send(addCall, 3, "")
	mustDecide(t, c.reply("3"), map[string]any{"decision": "denied", "reason": "store_unavailable"})
	pins.away.Store(false)
	mustDecide(t, answered(c, u, "4", `{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:first"}}`), map[string]any{"status": "committed"})
	if n := u.count("tools/call"); n != 2 {
		t.Errorf("the upstream received %d calls", n)
	}
}

// heldList keeps the answer to the gateway's own tools/list until the test gives it.
type heldList struct {
	*heldUpstream
	asked chan *mcpgate.Exchange
}

func (u *heldList) Open(func(mcpgate.Event), bool) mcpgate.Link { return u }

func (u *heldList) Send(ctx context.Context, x *mcpgate.Exchange) {
	if x.Message.Method == "tools/list" {
		u.asked <- x
		return
	}
	u.heldUpstream.Send(ctx, x)
}

func TestACallThatIsCancelledBeforeItBeginsIsNotRecorded(t *testing.T) {
	h := build(t, nil, hints(nil), nil)
	u := &heldList{newHeld(), make(chan *mcpgate.Exchange, 1)}
	c := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: tester, Guard: h.gate, Drain: time.Millisecond})
	c.send(addCall, 1, "")
	list := <-u.asked
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	c.send(`{"jsonrpc":"2.0","id":"after","method":"ping"}`)
	c.reply(`"after"`) // lines are read in order
	list.Done(mcpgate.Reply{Delivery: mcpgate.Answered, Message: mcpgate.ResultMessage(list.Message.ID, []byte(hostileTools))})
	mustDecide(t, answered(c, u.heldUpstream, "2", `{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:first"}}`), map[string]any{"decision": "execute", "attempt": 1.0})
	if n := u.count("tools/call"); n != 1 {
		t.Errorf("the upstream received %d calls", n)
	}
}

// busyReader is a gate whose reader comes to the second call when the first is over.
type busyReader struct {
	*mcpgate.Gate
	calls int
	first chan struct{}
	once  sync.Once
}

func (b *busyReader) Admit(ctx context.Context, s *mcpgate.Session, m mcpgate.Message, h http.Header) mcpgate.Admission {
	if b.calls++; b.calls == 2 {
		<-b.first
	}
	return b.Gate.Admit(ctx, s, m, h)
}

func (b *busyReader) Call(ctx context.Context, c *mcpgate.ToolCall) (mcpgate.Message, func()) {
	answer, delivered := b.Gate.Call(ctx, c)
	return answer, func() {
		if delivered != nil {
			delivered()
		}
		b.once.Do(func() { close(b.first) })
	}
}

func TestCallsOfOneReadCameTogetherHoweverLateTheyAreSeen(t *testing.T) {
	guard := &busyReader{Gate: build(t, nil, hints(nil), nil).gate, first: make(chan struct{})}
	u := newHeld()
	c := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: tester, Guard: guard, Drain: time.Millisecond})
	c.list("0")
	const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:%d"}}}`
	c.send(call+"\n"+call, 1, 1, 2, 2)
	<-u.came
	u.answer(doneResult)
	mustContain(t, c.reply("1"), `"decision":"execute"`)
	mustContain(t, c.reply("2"), `"decision":"replay","reason":"twin_joined"`)
	if n := u.count("tools/call"); n != 1 {
		t.Errorf("the upstream received %d calls", n)
	}
}

func TestACallThatFollowsTheAnswerOfAnEqualOneIsAnother(t *testing.T) {
	for range 100 {
		h := build(t, nil, hints(func(r *deed.Rule) { r.Repeat = deed.Limit{} }), nil)
		u := newHeld()
		c := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: tester, Guard: h.gate, Drain: time.Millisecond})
		c.list("0")
		for id := 1; id <= 2; id++ {
			c.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:%d"}}}`, id, id)
			select {
			case <-u.came:
			case line := <-c.lines:
				t.Fatalf("call %d was answered without being sent: %s", id, line)
			}
			u.answer(doneResult)
			c.reply(fmt.Sprint(id))
		}
		c.close()
	}
}

func TestACallThatWasBegunBeforeAnAnswerCameBesideIt(t *testing.T) {
	for name, padding := range map[string]int{"a short line": 0, "a line of several reads": 200 << 10} {
		t.Run(name, func(t *testing.T) {
			clock := storetest.NewClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
			h := build(t, clock, hints(nil), nil)
			u := newHeld()
			c := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: tester, Guard: h.gate, Drain: time.Millisecond})
			c.list("0")
			const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add","arguments":{"n":1%s,"idempotency_key":"add:order-1042:%d"}}}`
			first, second := fmt.Sprintf(call, 1, "", 1), fmt.Sprintf(call, 2, strings.Repeat(" ", padding), 2)
			half := len(second) / 2
			if _, err := c.in.Write([]byte(first + "\n" + second[:half])); err != nil {
				t.Fatal(err)
			}
			<-u.came
			clock.Advance(time.Second)
			u.answer(doneResult)
			mustContain(t, c.reply("1"), `"decision":"execute"`)
			clock.Advance(time.Second)
			c.send("%s", second[half:])
			mustContain(t, c.reply("2"), `"decision":"replay","reason":"twin_joined"`)
			if n := u.count("tools/call"); n != 1 {
				t.Errorf("the upstream received %d calls", n)
			}
		})
	}
}
