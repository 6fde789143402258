// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deed-run/deed/httpgate"
)

// served puts a rig's gate in front of a handler, behind a server of one version
// of HTTP.
func (r *rig) served(h http.Handler, two bool) (url string, client *http.Client) {
	r.t.Helper()
	server := httptest.NewUnstartedServer(r.gate.Middleware(h))
	server.EnableHTTP2 = two
	if two {
		server.StartTLS()
	} else {
		server.Start()
	}
	r.t.Cleanup(func() {
		server.Client().CloseIdleConnections()
		server.Close()
	})
	return server.URL, server.Client()
}

func versions(t *testing.T, test func(t *testing.T, two bool)) {
	for n, two := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/%d", n+1), func(t *testing.T) { test(t, two) })
	}
}

// order sends a guarded request and returns the answer as soon as it begins.
func order(t *testing.T, client *http.Client, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(order1))
	must(t, err)
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := client.Do(req)
	must(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func TestAHandlerStreamsToItsCallerAndIsReplayedWhole(t *testing.T) {
	versions(t, func(t *testing.T, two bool) {
		seen := make(chan struct{})
		h := &handling{do: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("Flush: %v", err)
			}
			<-seen // the caller has the first event while the handler is at work
			_, _ = io.WriteString(w, "data: 2\n\n")
		}}
		r := build(t, setup{routes: anyRoute(), handler: h})
		url, client := r.served(h, two)
		resp := order(t, client, url+"/do/it")
		if resp.ProtoMajor == 2 != two {
			t.Fatalf("spoken is %s", resp.Proto)
		}
		in := bufio.NewReader(resp.Body)
		expectLine(t, in, "data: 1")
		close(seen)
		rest, err := io.ReadAll(in)
		if err != nil || !strings.HasSuffix(string(rest), "data: 2\n\n") {
			t.Errorf("%q, %v", rest, err)
		}
		again := order(t, client, url+"/do/it")
		whole, err := io.ReadAll(again.Body)
		if err != nil || string(whole) != "data: 1\n\ndata: 2\n\n" || again.Header.Get("Idempotent-Replayed") != "true" || h.effects.Load() != 1 {
			t.Errorf("%q %v %v after %d effects", whole, again.Header, err, h.effects.Load())
		}
	})
}

func TestAHandlerThatPanicsAmidAStreamIsUncertainAndItsAnswerCut(t *testing.T) {
	versions(t, func(t *testing.T, two bool) {
		h := &handling{do: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			panic("boom")
		}}
		r := build(t, setup{routes: anyRoute(), handler: h})
		url, client := r.served(h, two)
		resp := order(t, client, url+"/do/it")
		if body, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("the caller took %q for whole", body)
		}
		again := order(t, client, url+"/do/it")
		if again.StatusCode != 409 || again.Header.Get("Deed-Reason") != "outcome_unknown" || h.effects.Load() != 1 {
			t.Errorf("%d %v after %d effects", again.StatusCode, again.Header, h.effects.Load())
		}
	})
}

// A guarded handler has no connection to take over: its answer is kept. What no
// route names has the server's own.
func TestOnlyUnguardedHandlersTakeTheConnectionOver(t *testing.T) {
	taken := make(chan error, 1)
	h := &handling{do: func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		taken <- err
		if err != nil {
			_, _ = io.WriteString(w, "plainly")
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString("you said " + line)
		_ = rw.Flush()
	}}
	r := build(t, setup{routes: anyRoute(), handler: h})
	url, client := r.served(h, false)
	resp := order(t, client, url+"/do/it")
	body, err := io.ReadAll(resp.Body)
	if told := <-taken; !errors.Is(told, http.ErrNotSupported) || err != nil || string(body) != "plainly" || resp.StatusCode != 200 {
		t.Errorf("told %v, answered %d %q, %v", told, resp.StatusCode, body, err)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	must(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello\n")
	must(t, err)
	said, err := io.ReadAll(conn)
	if told := <-taken; told != nil || err != nil || !strings.HasSuffix(string(said), "\r\n\r\nyou said hello\n") {
		t.Errorf("told %v, answered %q, %v", told, said, err)
	}
}

// An upgrade by a read passes the proxy in both directions.
func TestAnUpgradePassesTheProxy(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString("you said " + line)
		_ = rw.Flush()
	}))
	defer up.Close()
	r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: up.URL}})
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	must(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	must(t, err)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	must(t, err)
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("answered %s", resp.Status)
	}
	_, err = io.WriteString(conn, "hello\n")
	must(t, err)
	if said, err := io.ReadAll(in); err != nil || string(said) != "you said hello\n" {
		t.Errorf("%q, %v", said, err)
	}
}

// The values of a request's context reach its handler; the end of its caller
// does not.
func TestAHandlerHasTheValuesOfItsRequestsContext(t *testing.T) {
	type own struct{}
	h := &handling{do: func(w http.ResponseWriter, r *http.Request) {
		text, _ := r.Context().Value(own{}).(string)
		_, local := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		_, server := r.Context().Value(http.ServerContextKey).(*http.Server)
		_, _ = fmt.Fprint(w, text, local, server)
	}}
	r := build(t, setup{routes: anyRoute(), handler: h})
	guarded := r.gate.Middleware(h)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guarded.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), own{}, "mine ")))
	}))
	t.Cleanup(front.Close)
	resp := order(t, r.client, front.URL+"/do/it")
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "mine true true" {
		t.Errorf("%q, %v", body, err)
	}
}
