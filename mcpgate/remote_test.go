// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed/mcpgate"
)

// badServer is a hand-written Streamable HTTP server that misbehaves by tool name and counts what it received.
type badServer struct {
	mu       sync.Mutex
	calls    map[string]int // tools/call by tool
	sessions int
	forgot   bool
	headers  []http.Header
}

func (b *badServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	raw, _ := io.ReadAll(r.Body)
	var m upstreamMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	b.headers = append(b.headers, r.Header.Clone())
	if m.Method == "tools/call" {
		b.calls[m.Params.Name]++
	}
	known := r.Header.Get("Mcp-Session-Id") == fmt.Sprint("s", b.sessions) && !b.forgot
	b.mu.Unlock()
	reply := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
	switch {
	case m.Method == "initialize":
		b.mu.Lock()
		b.sessions++
		b.forgot = false
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", b.sessions))
		b.mu.Unlock()
		reply(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"bad","version":"1"}}`)
	case !known:
		w.WriteHeader(http.StatusNotFound)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/call":
		b.call(w, r, m, reply)
	case m.Method == "tools/list":
		reply(`{"tools":[]}`)
	default:
		reply(`{}`)
	}
}

func (b *badServer) call(w http.ResponseWriter, r *http.Request, m upstreamMessage, reply func(string)) {
	event := func(format string, args ...any) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: message\ndata: "+format+"\n\n", args...)
		_ = http.NewResponseController(w).Flush()
	}
	switch m.Params.Name {
	case "close":
		panic(http.ErrAbortHandler)
	case "cut-sse":
		event(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		panic(http.ErrAbortHandler)
	case "end-sse":
		event(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
	case "half":
		w.Header().Set("Content-Length", "1000")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[`, m.ID)
		panic(http.ErrAbortHandler)
	case "html":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>welcome</html>")
	case "502":
		w.WriteHeader(http.StatusBadGateway)
	case "429", "503":
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(map[string]int{"429": http.StatusTooManyRequests, "503": http.StatusServiceUnavailable}[m.Params.Name])
	case "404":
		w.WriteHeader(http.StatusNotFound)
	case "redirect":
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	case "other-id":
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":"not yours","result":{}}`)
	case "accepted":
		w.WriteHeader(http.StatusAccepted)
	case "forbidden":
		w.WriteHeader(http.StatusForbidden)
	case "sse":
		event(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"streamed"}]}}`, m.ID)
	default:
		reply(`{"content":[{"type":"text","text":"done"}]}`)
	}
}

func (b *badServer) count(tool string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[tool]
}

func bad(t *testing.T) (*badServer, *mcpgate.Remote) {
	t.Helper()
	b := &badServer{calls: map[string]int{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	remote := &mcpgate.Remote{URL: server.URL, Log: func(string) {}}
	t.Cleanup(func() { remote.Close() })
	return b, remote
}

func TestABrokenHTTPAnswerIsNeverSentAgain(t *testing.T) {
	for tool, want := range map[string]string{
		"close": "uncertain", "cut-sse": "uncertain", "end-sse": "uncertain", "half": "uncertain", "html": "uncertain", "502": "uncertain",
		"404": "uncertain", "redirect": "uncertain", "other-id": "uncertain", "accepted": "uncertain", "forbidden": "failed",
		"sse": "committed", "plain": "committed",
	} {
		t.Run(tool, func(t *testing.T) {
			b, remote := bad(t)
			c := serve(t, mcpgate.Stdio{Name: "bad", Upstream: remote, Principal: tester, Guard: build(t, nil, hints(nil), nil).gate})
			c.initialize()
			// A warm connection is the one that net/http would retry on.
			c.call("1", "warm", `{"idempotency_key":"warm:the:connection"}`)
			args := `{"idempotency_key":` + key1 + `}`
			mustDecide(t, c.call("2", tool, args), map[string]any{"decision": "execute", "status": want})
			again := map[string]string{"uncertain": "uncertain", "failed": "failed", "committed": "replay"}[want]
			mustDecide(t, c.call("3", tool, args), map[string]any{"decision": again})
			if n := b.count(tool); n != 1 {
				t.Errorf("the upstream received %d calls", n)
			}
			mustDecide(t, c.call("4", "after", `{"idempotency_key":"after:the:failure"}`), map[string]any{"status": "committed"})
		})
	}
}

func TestMessagesWaitForTheSession(t *testing.T) {
	b, remote := bad(t)
	c := serve(t, mcpgate.Stdio{Name: "bad", Upstream: remote, Principal: tester})
	c.send(initializeBody)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	mustContain(t, c.next(), `"id":"init"`)
	mustContain(t, c.next(), `"id":1,"result":{}`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.headers) != 3 {
		t.Errorf("the upstream received %d messages", len(b.headers))
	}
}

func TestAnUnreachableUpstreamIsProvedUnsent(t *testing.T) {
	for name, url := range map[string]string{
		"connection refused": "http://127.0.0.1:1/mcp", "no such name": "http://deed-test.invalid/mcp", "no TLS there": "https://127.0.0.1:1/mcp",
	} {
		t.Run(name, func(t *testing.T) {
			remote := &mcpgate.Remote{URL: url, Log: func(string) {}}
			t.Cleanup(func() { remote.Close() })
			c := serve(t, mcpgate.Stdio{Name: "bad", Upstream: remote, Principal: tester, Guard: build(t, nil, hints(nil), nil).gate})
			line := c.call("1", "pay", `{"idempotency_key":`+key1+`}`)
			mustDecide(t, line, map[string]any{"decision": "execute", "status": "failed", "reason": "not_sent"})
			mustContain(t, line, "Not applied, for certain", "Call again with the same key")
			for _, inner := range []string{"127.0.0.1", "deed-test", "tcp", "POST"} {
				if strings.Contains(line, inner) {
					t.Errorf("the client reads of the upstream's address, %q: %s", inner, line)
				}
			}
		})
	}
}

func TestAForgottenSessionIsRenewedForTheNextRequest(t *testing.T) {
	b, remote := bad(t)
	remote.IdlePing = time.Nanosecond // every session counts as idle: ping first
	c := serve(t, mcpgate.Stdio{Name: "bad", Upstream: remote, Principal: tester, Guard: build(t, nil, hints(nil), nil).gate})
	c.initialize()
	b.mu.Lock()
	b.forgot = true
	b.mu.Unlock()
	mustDecide(t, c.call("1", "plain", `{"idempotency_key":`+key1+`}`), map[string]any{"decision": "execute", "status": "committed"})
	if n := b.count("plain"); n != 1 || b.sessions != 2 {
		t.Errorf("%d calls, %d sessions", n, b.sessions)
	}
}

func TestNoCredentialOfAClientGoesUpstream(t *testing.T) {
	b, remote := bad(t)
	remote.Header = http.Header{"Authorization": {"Bearer upstream"}}
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"bad": remote}}) + "/mcp/bad"
	response := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
		"Authorization", "Bearer client", "Cookie", "c=1", "Idempotency-Key", "k", "X-Idempotency-Key", "k", "Traceparent", "00-1")
	if response.status != http.StatusOK || response.header.Get("Mcp-Session-Id") == "" {
		t.Fatalf("got %+v", response)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.headers[0]
	if got.Get("Authorization") != "Bearer upstream" || got.Get("Cookie") != "" || got.Get("Idempotency-Key") != "" || got.Get("X-Idempotency-Key") != "" || got.Get("Traceparent") != "00-1" {
		t.Errorf("the upstream received %v", got)
	}
}

func TestAProviderKeyInAHeaderMakesNobodySendTwice(t *testing.T) {
	for _, second := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2 %t", second), func(t *testing.T) {
			var mu sync.Mutex
			var keys []string
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				var m upstreamMessage
				_ = json.Unmarshal(raw, &m)
				if m.Method == "tools/call" {
					mu.Lock()
					keys = append(keys, r.Header.Get("Idempotency-Key"))
					mu.Unlock()
					panic(http.ErrAbortHandler) // it was executed, and the reused connection breaks
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			}))
			server.EnableHTTP2 = second
			server.StartTLS()
			t.Cleanup(server.Close)
			remote := &mcpgate.Remote{URL: server.URL, Transport: server.Client().Transport, Log: func(string) {}}
			link := remote.Open(nil, true)
			t.Cleanup(func() { link.Close() })
			send := func(method string, extra http.Header) mcpgate.Reply {
				done := make(chan mcpgate.Reply, 1)
				link.Send(t.Context(), &mcpgate.Exchange{
					Message: mcpgate.RequestMessage(json.RawMessage("1"), method, json.RawMessage("{}")), Extra: extra,
					Event: func(mcpgate.Event) {}, Done: func(r mcpgate.Reply) { done <- r },
				})
				return <-done
			}
			if r := send("tools/list", nil); r.Delivery != mcpgate.Answered {
				t.Fatal(r.Err)
			}
			if r := send("tools/call", http.Header{"Idempotency-Key": {"pk-1"}}); r.Delivery != mcpgate.Sent {
				t.Errorf("%s: %v", r.Delivery, r.Err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(keys) != 1 || keys[0] != "pk-1" {
				t.Errorf("the server executed %q", keys)
			}
		})
	}
}
