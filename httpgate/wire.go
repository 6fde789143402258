// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"sync"
	"sync/atomic"
	"time"
)

var (
	errWrittenLate = errors.New("the request could not be written in time")
	errRevoked     = errors.New("the request was given up before it was written")
)

// once is the body of a request that can be sent once. It is no type that net/http
// knows, and no request has a GetBody: so neither HTTP/1.1 nor HTTP/2 can repeat
// one, whatever headers it has (net/http repeats a POST that carries an
// Idempotency-Key when a connection that was used before breaks, if it can rewind
// the body or there is none).
type once struct {
	r    *bytes.Reader
	line *line
}

func newOnce(body []byte, l *line) *once { return &once{bytes.NewReader(body), l} }

// Read is called by one goroutine of the transport at a time.
func (b *once) Read(p []byte) (int, error) {
	if b.line != nil {
		if err := b.line.permit.may(); err != nil {
			return 0, err
		}
	}
	return b.r.Read(p)
}

func (b *once) Close() error { return nil }

// closing ends a request with its answer.
type closing struct {
	io.ReadCloser
	done func()
}

func (c *closing) Close() error {
	defer c.done()
	return c.ReadCloser.Close()
}

// line is one request on its way out: whether it may still leave, and whether any
// of it has.
type line struct {
	permit permit
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	timer   *time.Timer
	got     bool  // a connection was given to it
	shared  bool  // that is not ours to watch, or is shared with others
	wire    *wire // else this one
	held    bool  // it was not let go when it got the connection
	started bool  // its first byte may have left
	revoked bool
}

// traced watches the phases of the request.
func (l *line) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(info httptrace.GotConnInfo) { l.connected(info.Conn) },
		WroteRequest: func(httptrace.WroteRequestInfo) { l.stop() },
	})
}

// connected asks for leave at the last moment before the first byte. On a
// connection of HTTP/1.1 the write itself asks again; one of HTTP/2 looks at the
// context, which is ended here, before it writes.
func (l *line) connected(conn net.Conn) {
	err := l.permit.may()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = true
	if err != nil {
		l.held = true
		l.cancel(err)
	}
	if l.permit.left != nil && l.timer == nil {
		l.timer = time.AfterFunc(l.permit.left(), func() { l.cancel(errWrittenLate) })
	}
	secure, isTLS := conn.(*tls.Conn)
	if isTLS {
		conn = secure.NetConn()
	}
	w, ours := conn.(*wire)
	if !ours || isTLS && secure.ConnectionState().NegotiatedProtocol == "h2" {
		l.shared = true
		return
	}
	l.wire = w
	w.line.Store(l)
	if l.permit.left != nil {
		_ = w.SetWriteDeadline(time.Now().Add(l.permit.left()))
	} else {
		_ = w.SetWriteDeadline(time.Time{})
	}
}

// stop ends the watch over a request that is written.
func (l *line) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.wire != nil && l.wire.line.Load() == l {
		_ = l.wire.SetWriteDeadline(time.Time{})
	}
}

// begin is asked by a connection before it writes.
func (l *line) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.started:
		return nil
	case l.revoked, l.held:
		return errRevoked
	}
	if err := l.permit.may(); err != nil {
		l.held = true
		return err
	}
	l.started = true
	return nil
}

// nothing takes back a beginning of which no byte was written; the connection is
// broken, and nothing follows on it.
func (l *line) nothing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started, l.revoked = false, true
}

// refusedStream is the error of an HTTP/2 stream that the server refused before
// processing it (RFC 9113 section 8.7); net/http's own error converts itself.
type refusedStream struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e refusedStream) Error() string { return fmt.Sprintf("stream %d refused", e.StreamID) }

const codeRefusedStream = 7

// refusedAfterBody is how net/http words a refused stream that it would have
// repeated if it could. It holds no text of the server.
var refusedAfterBody = regexp.MustCompile(`^http2: Transport: cannot retry err \[stream error: stream ID [0-9]+; REFUSED_STREAM`)

// unsent reports that nothing of the request left, and sees to it that nothing
// will. What shares a connection with others counts as sent once it had one,
// unless the server itself refused the stream. A stream that a GOAWAY left out
// counts as sent: some servers say so of what they have processed.
func (l *line) unsent(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	var stream refusedStream
	switch {
	case !l.got, l.held && !l.started:
		l.revoked = true
		return true
	case !l.shared && !l.started:
		l.revoked = true
		return true
	}
	return errors.As(err, &stream) && stream.Code == codeRefusedStream || refusedAfterBody.MatchString(err.Error())
}

// wire is a connection that asks before the first byte of a request of HTTP/1.1.
type wire struct {
	net.Conn
	line atomic.Pointer[line]
}

// Write writes the bytes of the request that holds the connection.
func (w *wire) Write(p []byte) (int, error) {
	l := w.line.Load()
	if l == nil {
		return w.Conn.Write(p)
	}
	first := !l.begun()
	if err := l.begin(); err != nil {
		return 0, err
	}
	n, err := w.Conn.Write(p)
	if first && n == 0 && err != nil {
		l.nothing()
	}
	return n, err
}

func (l *line) begun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.started
}

// onceTransport keeps requests that change things and are not guarded from being
// repeated below.
type onceTransport struct{ http.RoundTripper }

// RoundTrip sends a request once unless it is safe.
func (t onceTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if safe(r.Method) {
		return t.RoundTripper.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.GetBody = nil
	if r.Body == nil || r.Body == http.NoBody {
		r.Body, r.ContentLength = newOnce(nil, nil), 0
	}
	return t.RoundTripper.RoundTrip(r)
}
