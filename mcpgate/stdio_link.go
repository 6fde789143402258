// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// Open returns a session with a child process of its own, which is started by the first request.
func (c Command) Open(sink func(Event), shared bool) Link {
	return &stdioLink{
		command: c.filled(), sink: sink, shared: shared, prefix: "deed-" + rand.Text()[:10] + "-",
		pending: map[string]*waiting{}, tokens: map[string]*waiting{},
	}
}

// stdioLink is a session over a child's standard streams. Requests of the gateway itself, and all requests of a shared link, travel under
// ids of its own.
type stdioLink struct {
	command Command
	sink    func(Event)
	shared  bool
	prefix  string
	serial  atomic.Uint64

	starting sync.Mutex // held while a child is started and initialised
	work     sync.WaitGroup

	mu          sync.Mutex
	child       *child
	closed      bool
	queueing    bool // a child is being started, or messages wait for one
	queue       []queued
	pending     map[string]*waiting // by id, as Message.Key
	tokens      map[string]*waiting // by progress token on the wire
	initialize  Message             // what the client opened the session with
	initialized Message
	restarted   bool // no request went to this child yet
	heard       time.Time
	spoke       bool  // an upstream of this session has said something
	broken      error // why the latest child did not start, or ended by itself
}

// waiting is a request whose reply has not come.
type waiting struct {
	x     *Exchange
	id    json.RawMessage // the caller's id when another one is on the wire
	token string          // the token on the wire
	child *child
	stop  func() bool // ends the watch over the caller's context
}

func (l *stdioLink) ownID() json.RawMessage {
	return json.RawMessage(`"` + l.prefix + strconv.FormatUint(l.serial.Add(1), 10) + `"`)
}

func (p *child) isDead() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (x *Exchange) end(r Reply) {
	if x.Done != nil {
		x.Done(r)
	}
}

// send writes the message to this child and to no other one.
func (l *stdioLink) send(ctx context.Context, c *child, x *Exchange) {
	m, w, err := l.onWire(x)
	if err != nil {
		x.end(Reply{Delivery: Unsent, Err: err})
		return
	}
	key := m.Key()
	if m.IsRequest() {
		w.child = c
		l.mu.Lock()
		if l.pending[key] != nil {
			l.mu.Unlock()
			x.end(Reply{Delivery: Unsent, Err: fmt.Errorf("request id %s is in use; nothing was sent", m.ID)})
			return
		}
		l.pending[key] = w
		if w.token != "" {
			l.tokens[w.token] = w
		}
		l.record(m)
		l.mu.Unlock()
		if ctx.Done() != nil {
			stop := context.AfterFunc(ctx, func() { l.forsake(ctx, key, m, w) })
			l.mu.Lock()
			w.stop = stop
			l.mu.Unlock()
		}
	} else {
		l.mu.Lock()
		l.record(m)
		l.mu.Unlock()
	}
	l.put(c, x, m, w)
}

// put writes the line. A write to a child that is gone fails; one that a dying child could still have read counts as sent.
func (l *stdioLink) put(c *child, x *Exchange, m Message, w *waiting) {
	n, err := c.lines.write(oneLine(m.Raw), x.Gate)
	if !m.IsRequest() {
		return
	}
	if err != nil {
		delivery := Sent
		if n == 0 {
			delivery = Unsent
		}
		l.settle(m.Key(), w, Reply{Delivery: delivery, Err: fmt.Errorf("write to upstream %q: %w", l.command.Name, err)})
		return
	}
	select {
	case <-c.dead:
		l.settle(m.Key(), w, Reply{Delivery: Sent, Err: c.err})
	default:
	}
}

// onWire gives the message the id and token that it travels under.
func (l *stdioLink) onWire(x *Exchange) (Message, *waiting, error) {
	m, w := x.Message, &waiting{x: x}
	if !m.IsRequest() {
		return m, w, nil
	}
	w.token = x.Token
	if !l.shared {
		return m, w, nil
	}
	id := l.ownID()
	w.id = m.ID
	m, err := m.With("id", id)
	if err == nil {
		if token, ok := rawjson.Get(m.Params, "_meta", "progressToken"); ok {
			x.Token, w.token = string(token), string(id)
			var params []byte
			if params, err = rawjson.Set(m.Params, id, "_meta", "progressToken"); err == nil {
				m, err = m.With("params", params)
			}
		}
	}
	return m, w, err
}

// record keeps what a restarted child must be told before the next request. The caller holds mu.
func (l *stdioLink) record(m Message) {
	l.restarted = false
	switch m.Method {
	case "initialize":
		l.initialize, l.initialized = m, Message{}
	case "notifications/initialized":
		l.initialized = m
	}
}

// forsake ends the wait for a request whose client has left. On a shared link nobody else tells the server, which may hold a subscription
// for it; a guarded request is never cancelled.
func (l *stdioLink) forsake(ctx context.Context, key string, m Message, w *waiting) {
	if l.shared && w.x.Gate == nil {
		params := fmt.Appendf(nil, `{"requestId":%s,"reason":"the client has left"}`, m.ID)
		_, _ = w.child.lines.write(RequestMessage(nil, "notifications/cancelled", params).Raw, nil)
	}
	l.settle(key, w, Reply{Delivery: Sent, Err: context.Cause(ctx)})
}

// settle ends a pending request once.
func (l *stdioLink) settle(key string, w *waiting, r Reply) {
	l.mu.Lock()
	if l.pending[key] != w {
		l.mu.Unlock()
		return
	}
	delete(l.pending, key)
	if w.token != "" && l.tokens[w.token] == w {
		delete(l.tokens, w.token)
	}
	stop := w.stop
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
	if w.id != nil && r.Delivery == Answered {
		if m, err := r.Message.With("id", w.id); err == nil {
			r.Message = m
		}
	}
	w.x.end(r)
}

// failed says why no child of this session ever said anything, nil when one did or none was needed.
func (l *stdioLink) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spoke || l.broken == nil {
		return nil
	}
	return fmt.Errorf("upstream %q never answered: %w; see that its command runs by itself", l.command.Name, l.broken)
}

// Close ends the child and everything that waits for it.
func (l *stdioLink) Close() error {
	l.mu.Lock()
	l.closed = true
	c := l.child
	l.mu.Unlock()
	if c != nil {
		c.stop()
	}
	l.work.Wait()
	return nil
}

var errStdioNoise = errors.New("a line of the upstream's output is no message")
