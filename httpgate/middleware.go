// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/deed-run/deed"
)

// Attempt is what a handler may know of the attempt that it serves.
type Attempt struct {
	Operation deed.OperationID
	Number    int
	// SendBy is the moment after which the handler must not begin its effect.
	SendBy time.Time
	// ProviderKey is the key minted for a provider, "" where the rule declares none.
	ProviderKey string
	// Arguments are the frozen request.
	Arguments []byte
}

type attemptKey struct{}

// AttemptFrom returns the attempt that a handler behind [Gate.Middleware] serves;
// false outside of a guarded route.
func AttemptFrom(ctx context.Context) (Attempt, bool) {
	a, ok := ctx.Value(attemptKey{}).(Attempt)
	return a, ok
}

// Middleware puts the Gate in front of a program's own handlers. A handler of a
// guarded route runs at most once per operation, detached from its caller: its
// request's context does not end when the caller leaves. A status of 2xx commits,
// one of 4xx that the tables call definite refuses, and everything else, a panic
// included, leaves the operation uncertain. Requests that no route names pass when
// they are safe, and go by [Options].Unnamed otherwise.
func (g *Gate) Middleware(next http.Handler) http.Handler {
	g.mu.Lock()
	if g.identity == "" {
		g.identity = g.routes.name
	}
	g.mu.Unlock()
	next = unchanged(next)
	return &side{Gate: g, sender: local{g, next}, pass: next, cookies: true}
}

// unchanged keeps from a handler what frameworks take for another method or path
// than the one by which the route was found.
func unchanged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if changesRequest(name) {
				r = r.Clone(r.Context())
				maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return changesRequest(name) })
				break
			}
		}
		next.ServeHTTP(w, r)
	})
}

// local runs a handler.
type local struct {
	gate *Gate
	next http.Handler
}

// send runs the handler; its answer can be read while it is written.
func (h local) send(ctx context.Context, s snapshot, x *reading, g *deed.Grant, p permit) (*http.Response, bool, error) {
	if err := p.may(); err != nil {
		return nil, true, err
	}
	ctx = context.WithValue(ctx, attemptKey{}, Attempt{g.Operation, g.Attempt, g.SendBy, g.ProviderKey, g.Arguments})
	req := x.Clone(ctx)
	at, err := req.URL.Parse(s.target)
	if err != nil {
		return nil, true, err
	}
	req.Method, req.URL, req.RequestURI = s.method, at, s.target
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(s.body)), int64(len(s.body))
	req.TransferEncoding, req.Trailer = nil, nil
	req.Header.Del("Content-Length")
	setOr(req.Header, "Content-Type", s.kind)
	setOr(req.Header, "Content-Encoding", s.coding)
	for name, values := range s.header {
		req.Header[name] = values
	}
	read, write := io.Pipe()
	w := &answerWriter{header: http.Header{}, pipe: write, head: make(chan *http.Response, 1), body: read}
	// Where the handler does not heed the end of ctx, its answer is not waited for.
	context.AfterFunc(ctx, func() { _ = read.CloseWithError(context.Cause(ctx)) })
	h.gate.handlers.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				w.finish(fmt.Errorf("the handler panicked: %v", p))
			}
		}()
		h.next.ServeHTTP(w, req)
		w.finish(nil)
	})
	select {
	case resp := <-w.head:
		if resp == nil {
			return nil, false, w.failed
		}
		return resp, false, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// answerWriter is the http.ResponseWriter of a guarded handler, which is one
// goroutine.
type answerWriter struct {
	header http.Header
	pipe   *io.PipeWriter
	body   io.ReadCloser
	head   chan *http.Response
	begun  bool
	failed error
}

// Header returns the header that WriteHeader sends.
func (w *answerWriter) Header() http.Header { return w.header }

// WriteHeader begins the answer.
func (w *answerWriter) WriteHeader(status int) {
	if w.begun || status < 200 {
		return
	}
	w.begun = true
	w.head <- &http.Response{StatusCode: status, Header: w.header.Clone(), Body: w.body, ContentLength: -1}
}

// Write sends a part of the body.
func (w *answerWriter) Write(p []byte) (int, error) {
	if !w.begun {
		if w.header.Get("Content-Type") == "" {
			w.header.Set("Content-Type", http.DetectContentType(p))
		}
		w.WriteHeader(http.StatusOK)
	}
	return w.pipe.Write(p)
}

// Flush does nothing: what is written is on its way.
func (w *answerWriter) Flush() {}

func (w *answerWriter) finish(err error) {
	if !w.begun && err != nil {
		w.failed = err
		w.head <- nil
	}
	if err == nil {
		w.WriteHeader(http.StatusOK)
	}
	_ = w.pipe.CloseWithError(err)
}
