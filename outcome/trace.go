// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// Phase is how far one HTTP request had come.
type Phase int

// The phases in their order.
const (
	// NothingWritten: no byte of the request left, for certain.
	NothingWritten Phase = iota
	// HeadersWritten: some of the request may have left.
	HeadersWritten
	// BodyWritten: all of it left, and nothing came back.
	BodyWritten
	// PartialAnswer: the answer has begun.
	PartialAnswer
)

func (p Phase) String() string {
	return [...]string{"nothing was written", "it was being written", "it was written, no answer came", "the answer broke off"}[p]
}

var (
	errWrittenLate = errors.New("the request could not be written in time")
	errGivenUp     = errors.New("the request was given up before it was written")
)

// Trace follows one HTTP request that must be sent at most once: it asks for leave right before the first byte, knows by net/http/httptrace
// and by the connection itself what was written, and gives net/http nothing that it could send a second time. Use one Trace for one request,
// over a transport whose connections are [Watched]; over another one every request counts as sent once it has a connection.
type Trace struct {
	// May is asked right before the first byte and before every part of the body; its error keeps the request back. Nil permits.
	May func() error
	// Left bounds the writing, from the moment that there is a connection; nil does not.
	Left func() time.Duration

	cancel context.CancelCauseFunc
	ctx    context.Context

	mu       sync.Mutex
	timer    *time.Timer
	got      bool     // a connection was given to it
	shared   bool     // one that is not ours to watch, or is shared with others
	conn     *watched // else this one
	held     bool     // it was not let go
	started  bool     // its first byte may have left
	sealed   bool     // none may leave any more
	written  bool
	answered bool
}

// Request makes the request. Its body is of no type that net/http knows and it has no GetBody, so that neither HTTP/1.1 nor HTTP/2 can repeat
// it, whatever headers it carries: net/http repeats a POST with an Idempotency-Key when a reused connection breaks, if it can rewind the
// body or there is none. Call Close when the answer has been read.
func (t *Trace) Request(ctx context.Context, method, url string, body []byte) (*http.Request, error) {
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	traced := httptrace.WithClientTrace(t.ctx, &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { t.connected(info.Conn) },
		WroteRequest:         func(info httptrace.WroteRequestInfo) { t.wrote(info.Err) },
		GotFirstResponseByte: t.answering,
	})
	req, err := http.NewRequestWithContext(traced, method, url, &once{bytes.NewReader(body), t})
	if err != nil {
		t.cancel(nil)
		return nil, err
	}
	req.ContentLength = int64(len(body))
	return req, nil
}

// Close ends the request; a connection that waits for the rest of its answer is dropped.
func (t *Trace) Close() {
	t.stop()
	if t.cancel != nil {
		t.cancel(nil)
	}
}

// Phase is how far the request has come.
func (t *Trace) Phase() Phase {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.got, t.held && !t.started, !t.shared && !t.started:
		return NothingWritten
	case t.answered:
		return PartialAnswer
	case t.written:
		return BodyWritten
	}
	return HeadersWritten
}

// Lost classifies the error that ended the request without a whole answer, and sees to it that nothing of it leaves any more.
func (t *Trace) Lost(err error) deed.Outcome {
	t.stop()
	t.mu.Lock()
	t.sealed = true
	t.mu.Unlock()
	if t.ctx != nil {
		if cause := context.Cause(t.ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(err, cause) {
			err = errors.Join(cause, err)
		}
	}
	return Transport(err, t.Phase())
}

// connected asks for leave at the last moment before the first byte. A watched connection of HTTP/1.1 asks again as it writes; one of
// HTTP/2 looks at the context, which is ended here, before it writes.
func (t *Trace) connected(conn net.Conn) {
	err := t.may()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.got = true
	if err != nil {
		t.held = true
		t.cancel(err)
	}
	if t.Left != nil && t.timer == nil {
		t.timer = time.AfterFunc(t.Left(), func() { t.cancel(errWrittenLate) })
	}
	secure, isTLS := conn.(*tls.Conn)
	if isTLS {
		conn = secure.NetConn()
	}
	w, ours := conn.(*watched)
	if !ours || isTLS && secure.ConnectionState().NegotiatedProtocol == "h2" {
		t.shared = true
		return
	}
	t.conn = w
	w.trace.Store(t)
	until := time.Time{}
	if t.Left != nil {
		until = time.Now().Add(t.Left())
	}
	_ = w.SetWriteDeadline(until)
}

func (t *Trace) may() error {
	if t.May == nil {
		return nil
	}
	return t.May()
}

func (t *Trace) wrote(err error) {
	t.stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.written = err == nil
}

func (t *Trace) answering() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answered = true
}

// stop ends the bound on writing.
func (t *Trace) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
	}
	if t.conn != nil && t.conn.trace.Load() == t {
		_ = t.conn.SetWriteDeadline(time.Time{})
	}
}

// once is a body that can be sent once. Read is called by one goroutine of the transport at a time.
type once struct {
	r     *bytes.Reader
	trace *Trace
}

func (b *once) Read(p []byte) (int, error) {
	if err := b.trace.may(); err != nil {
		return 0, err
	}
	return b.r.Read(p)
}

func (b *once) Close() error { return nil }

var _ io.ReadCloser = (*once)(nil)
