// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// body hands a message to the transport once. It is no type that net/http knows, so a request made of it has no GetBody and cannot be
// repeated. Whether its bytes were taken is what tells an unsent request from one that may have arrived: without its body no server can
// execute a call, with any part of it taken nothing is proved.
type body struct {
	r     *bytes.Reader
	gate  func() (time.Time, error)
	late  func() // called when writing has not ended in time
	taken atomic.Bool
	timer *time.Timer
}

// Read is called by one goroutine of the transport at a time.
func (b *body) Read(p []byte) (int, error) {
	if !b.taken.Load() && b.gate != nil {
		until, err := b.gate()
		if err != nil {
			return 0, err
		}
		if b.timer == nil {
			b.timer = time.AfterFunc(time.Until(until), b.late)
		}
	}
	n, err := b.r.Read(p)
	if n > 0 {
		b.taken.Store(true)
	}
	if err != nil && b.timer != nil {
		b.timer.Stop()
	}
	return n, err
}

func (b *body) Close() error { return nil }

// refusedStream matches the error of an HTTP/2 stream that the server refused before processing it (RFC 9113 section 8.7). Its fields are
// those of net/http's own error, which converts itself.
type refusedStream struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e refusedStream) Error() string { return fmt.Sprintf("stream %d refused", e.StreamID) }

const codeRefusedStream = 7

var errWrittenLate = errors.New("the request could not be written in time")

// refusedAfterBody is how net/http words a refused stream that it would have repeated if it could. It holds no text of the server.
var refusedAfterBody = regexp.MustCompile(`^http2: Transport: cannot retry err \[stream error: stream ID [0-9]+; REFUSED_STREAM`)

func unsent(err error, b *body) bool {
	if !b.taken.Load() {
		return true
	}
	var stream refusedStream
	return errors.As(err, &stream) && stream.Code == codeRefusedStream || refusedAfterBody.MatchString(err.Error())
}

// post sends one message once and reads what belongs to it.
func (l *httpLink) post(ctx context.Context, x *Exchange) Reply {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(l.ended, func() { cancel(ErrUpstreamClosed) })
	defer stop()
	b := &body{r: bytes.NewReader(x.Message.Raw), gate: x.Gate, late: func() { cancel(errWrittenLate) }}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.remote.URL, b)
	if err != nil {
		return Reply{Delivery: Unsent, Err: l.remote.veil(err)}
	}
	req.ContentLength = int64(len(x.Message.Raw))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	l.headers(req, x.Header, x.Message)
	for name, values := range x.Extra {
		req.Header[name] = slices.Clone(values)
	}
	resp, err := l.remote.Transport.RoundTrip(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = fmt.Errorf("%w (%w)", cause, err)
		}
		delivery := Sent
		if unsent(err, b) {
			delivery = Unsent
		}
		if m := x.Message.Method; m != "tools/call" && !errors.Is(err, context.Canceled) { // of a call, the record tells
			l.remote.Log(fmt.Sprintf("upstream %s: %s: no answer: %v", l.remote.place(), m, l.remote.place().Hide(err)))
		}
		return Reply{Delivery: delivery, Err: l.remote.veil(err)}
	}
	defer resp.Body.Close()
	l.note(x.Message, resp)
	if x.Head != nil {
		x.Head(resp.StatusCode, resp.Header)
	}
	return l.answer(ctx, x, resp)
}

// note keeps what a response says of the session.
func (l *httpLink) note(m Message, resp *http.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = l.remote.Now()
	if id := resp.Header.Get(headerSession); id != "" && m.Method == "initialize" && resp.StatusCode == http.StatusOK {
		l.session = id
	}
	if resp.StatusCode == http.StatusNotFound && l.session != "" && resp.Request.Header.Get(headerSession) == l.session {
		l.lost = true
	}
}

// maxRefusal bounds an answer that is no JSON-RPC.
const maxRefusal = 64 << 10

func (l *httpLink) answer(ctx context.Context, x *Exchange, resp *http.Response) Reply {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	r := Reply{Status: resp.StatusCode, Header: resp.Header}
	switch {
	case !x.Message.IsRequest() && resp.StatusCode < 300:
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxRefusal))
		r.Delivery = Answered
		return r
	case resp.StatusCode == http.StatusOK && kind == "text/event-stream":
		return l.stream(ctx, x, resp)
	}
	limit := maxRefusal
	if resp.StatusCode == http.StatusOK {
		limit = l.remote.MaxMessage
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err != nil {
		r.Delivery, r.Err = Sent, fmt.Errorf("%w: %w", ErrCut, l.remote.veil(err))
		return r
	}
	m, err := ParseMessage(raw)
	ours := err == nil && m.IsReply() && (m.Key() == x.Message.Key() || string(m.ID) == "null" && m.Error != nil)
	switch {
	case len(raw) > limit:
		r.Delivery, r.Err = Sent, ErrTooLong
	case ours:
		r.Delivery, r.Message = Answered, m
	case resp.StatusCode >= 300:
		r.Delivery, r.Body = Answered, raw
		r.Err = fmt.Errorf("HTTP %s", strings.TrimSpace(resp.Status))
	default:
		r.Delivery, r.Body = Sent, raw[:min(len(raw), maxRefusal)]
		r.Err = fmt.Errorf("HTTP %s without a whole JSON-RPC reply to the request", strings.TrimSpace(resp.Status))
	}
	if r.Status == http.StatusNotFound && l.isLost() {
		r.Err = fmt.Errorf("%w: HTTP 404", ErrSessionLost)
	}
	return r
}

func (l *httpLink) isLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// stream reads server-sent events up to the reply.
func (l *httpLink) stream(ctx context.Context, x *Exchange, resp *http.Response) Reply {
	events := &sseReader{r: bufio.NewReaderSize(resp.Body, 16<<10), max: l.remote.MaxMessage}
	var at position
	for {
		block, data, err := events.next()
		if err != nil {
			return l.cut(ctx, x, resp.StatusCode, at, err)
		}
		at.see(block)
		e := Event{Block: block}
		if len(data) > 0 {
			if m, err := ParseMessage(data); err == nil {
				e.Message = m
			}
		}
		if m := e.Message; m.IsReply() && m.Key() == x.Message.Key() {
			return Reply{Delivery: Answered, Status: resp.StatusCode, Message: m, Block: block}
		}
		l.pass(x, e)
	}
}

func (l *httpLink) pass(x *Exchange, e Event) {
	switch {
	case x.Event != nil:
		x.Event(e)
	case l.sink != nil && e.Message.Raw != nil:
		l.sink(e)
	}
}
