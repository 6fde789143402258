// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// httpLink is a session over HTTP: each message is one POST. In the session eras it holds the upstream's Mcp-Session-Id; in the stateless
// one (2026-07-28) it holds nothing.
type httpLink struct {
	remote *Remote
	sink   func(Event) // nil where the client opens the GET stream itself
	shared bool
	prefix string
	serial atomic.Uint64
	ended  context.Context // done once the link is closed
	end    context.CancelFunc
	work   sync.WaitGroup

	renewing sync.Mutex

	mu          sync.Mutex
	closed      bool
	session     string
	version     string // negotiated by initialize
	lost        bool   // the upstream forgot the session
	initialize  Message
	initialized Message
	initHeader  http.Header
	heard       time.Time
	listening   bool
	opening     chan struct{} // closed when the latest initialize has been answered
}

// noticeWait bounds the POST of a notification or reply, which waits so that messages keep their order.
const noticeWait = 10 * time.Second

func (l *httpLink) ownID() json.RawMessage {
	return json.RawMessage(`"` + l.prefix + strconv.FormatUint(l.serial.Add(1), 10) + `"`)
}

func (l *httpLink) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.work.Add(1)
	return true
}

func (l *httpLink) Send(ctx context.Context, x *Exchange) {
	if !l.begin() {
		x.end(Reply{Delivery: Unsent, Err: ErrUpstreamClosed})
		return
	}
	opened := l.order(x.Message)
	if !x.Message.IsRequest() {
		defer l.work.Done()
		<-opened
		ctx, cancel := context.WithTimeout(ctx, noticeWait)
		defer cancel()
		r := l.post(ctx, x)
		x.end(r)
		if x.Message.Method == "notifications/initialized" {
			l.mu.Lock()
			l.initialized = x.Message
			l.mu.Unlock()
			l.listen()
		}
		return
	}
	go func() {
		defer l.work.Done()
		if x.Message.Method == "initialize" {
			defer close(opened)
		} else {
			<-opened
		}
		if err := l.renew(ctx, x.Message); err != nil {
			x.end(Reply{Delivery: Unsent, Err: err})
			return
		}
		r := l.post(ctx, x)
		if x.Message.Method == "initialize" {
			l.opened(x, r)
		}
		x.end(r)
	}()
}

// order returns what a message waits for: the answer to the initialize before it, which brings the session. An initialize gets the channel
// that it closes itself; it always ends, because the link's end ends its request.
func (l *httpLink) order(m Message) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Method == "initialize" && m.IsRequest() {
		l.opening = make(chan struct{})
	}
	return l.opening
}

// opened records what a session was opened with, so that it can be renewed.
func (l *httpLink) opened(x *Exchange, r Reply) {
	version, ok := rawjson.Text(r.Message.Result, "protocolVersion")
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version, l.lost, l.initialize, l.initialized, l.initHeader = version, false, x.Message, Message{}, x.Header
}

// renew opens a new session where the upstream has forgotten the old one, before the next request. Nothing is sent again.
func (l *httpLink) renew(ctx context.Context, next Message) error {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	l.mu.Lock()
	lost, initialize, initialized, header := l.lost, l.initialize, l.initialized, l.initHeader
	l.mu.Unlock()
	if !lost || next.Method == "initialize" || initialize.Raw == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	l.mu.Lock()
	l.session = ""
	l.mu.Unlock()
	x := &Exchange{Message: RequestMessage(l.ownID(), "initialize", initialize.Params), Header: header, Event: func(Event) {}}
	r := l.post(ctx, x)
	if r.Delivery != Answered || r.Message.Result == nil {
		return before("the session could not be renewed", errOf(r))
	}
	version, _ := rawjson.Text(r.Message.Result, "protocolVersion")
	l.mu.Lock()
	l.version, l.lost, l.heard = version, false, time.Time{}
	l.mu.Unlock()
	if initialized.Raw != nil {
		l.post(ctx, &Exchange{Message: initialized, Header: header})
	}
	l.remote.Log(fmt.Sprintf("upstream %s: it had forgotten the session; a new one was opened", l.remote.place()))
	return nil
}

func errOf(r Reply) error {
	if r.Err != nil {
		return r.Err
	}
	return errors.New("it answered with an error: " + string(r.Message.Error))
}

// Ready renews a lost session and pings one that was silent for long. The stateless era has neither sessions nor ping.
func (l *httpLink) Ready(ctx context.Context) error {
	if !l.begin() {
		return ErrUpstreamClosed
	}
	defer l.work.Done()
	if err := l.renew(ctx, Message{}); err != nil {
		return err
	}
	l.mu.Lock()
	quiet := l.version != "" && l.remote.Now().Sub(l.heard) >= l.remote.IdlePing
	l.mu.Unlock()
	if !quiet {
		return nil
	}
	ping := func() Reply {
		ctx, cancel := context.WithTimeout(ctx, readyWait)
		defer cancel()
		return l.post(ctx, &Exchange{Message: RequestMessage(l.ownID(), "ping", nil), Event: func(Event) {}})
	}
	r := ping()
	if errors.Is(r.Err, ErrSessionLost) {
		if err := l.renew(ctx, Message{}); err != nil {
			return err
		}
		r = ping()
	}
	if r.Delivery != Answered || r.Message.Raw == nil {
		return before("it does not answer a ping", errOf(r))
	}
	return nil
}

// Close ends the session at the upstream and everything that waits for it.
func (l *httpLink) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	session := l.session
	l.mu.Unlock()
	l.end()
	if session != "" {
		ctx, cancel := context.WithTimeout(context.Background(), noticeWait)
		defer cancel()
		if req, err := http.NewRequestWithContext(ctx, http.MethodDelete, l.remote.URL, nil); err == nil {
			l.headers(req, nil, Message{})
			if resp, err := l.remote.Transport.RoundTrip(req); err == nil {
				_ = resp.Body.Close()
			}
		}
	}
	l.work.Wait()
	return nil
}
