// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deed-run/deed/httpgate"
)

// A client may end its side of the connection once its request is written, and
// still read. net/http then ends the request's context.
func TestAClientThatHasClosedItsSideIsNotToldThatItIsDone(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		t.Run(kind, func(t *testing.T) {
			entered, leave := make(chan struct{}), make(chan struct{})
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				w.Header().Set("Content-Type", kind)
				if kind == "text/event-stream" {
					_, _ = io.WriteString(w, "data: 1\n\n")
					_ = http.NewResponseController(w).Flush()
				}
				close(entered)
				<-leave
				panic(http.ErrAbortHandler)
			}))
			defer upstream.Close()
			r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: upstream.URL}})
			conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
			must(t, err)
			defer func() { _ = conn.Close() }()
			_, err = fmt.Fprintf(conn, "POST /do/it HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", key, len(order1), order1)
			must(t, err)
			defer close(leave)
			<-entered
			must(t, conn.(*net.TCPConn).CloseWrite())
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				return // cut before anything was written: nothing is claimed
			}
			defer func() { _ = resp.Body.Close() }()
			body, err := io.ReadAll(resp.Body)
			if err == nil && (resp.StatusCode != http.StatusConflict || resp.Header.Get("Deed-Decision") != "in_progress") {
				t.Errorf("answered %s, whole body %q, while the upstream has not answered", resp.Status, body)
			}
		})
	}
}

// bounded puts a middleware of the embedder's in front, which ends the context of
// requests. The caller is still there.
func bounded(t *testing.T, next http.Handler) (url string, end context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		both, stop := context.WithCancel(req.Context())
		defer stop()
		defer context.AfterFunc(ctx, stop)()
		next.ServeHTTP(w, req.WithContext(both))
	}))
	t.Cleanup(front.Close)
	t.Cleanup(cancel)
	return front.URL, cancel
}

func TestAStreamWhoseContextEndsIsCut(t *testing.T) {
	leave := make(chan struct{})
	h := &handling{do: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		<-leave
		panic(http.ErrAbortHandler)
	}}
	r := build(t, setup{routes: anyRoute(), handler: h})
	defer close(leave)
	url, end := bounded(t, r.gate.Middleware(h))
	req, err := http.NewRequest("POST", url+"/do/it", strings.NewReader(order1))
	must(t, err)
	req.Header.Set("Idempotency-Key", key)
	resp, err := r.client.Do(req)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	_, err = io.ReadFull(resp.Body, make([]byte, 4))
	must(t, err)
	end()
	if rest, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("%q was taken for the rest of the answer, and nothing is established", rest)
	}
}

func TestACallerWhoseContextEndsIsToldThatItIsUnderWay(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	h := &handling{do: func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		w.WriteHeader(http.StatusInternalServerError)
	}}
	r := build(t, setup{routes: anyRoute(), handler: h})
	defer close(leave)
	url, end := bounded(t, r.gate.Middleware(h))
	go func() { <-entered; end() }()
	front := *r
	front.url = url
	g := front.send("POST", "/do/it", order1, "Idempotency-Key", key)
	g.wants(t, http.StatusConflict, "Deed-Decision", "in_progress", "Deed-Status", "executing", "Retry-After", "25")
	if h.effects.Load() != 1 {
		t.Errorf("it ran %d times", h.effects.Load())
	}
}
