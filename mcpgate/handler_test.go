// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed/mcpgate"
)

// serveHTTP runs a gateway over HTTP and returns its address.
func serveHTTP(t *testing.T, o mcpgate.HTTPOptions) string {
	t.Helper()
	h, err := mcpgate.NewHandler(o)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp/{upstream}", h)
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
		server.CloseClientConnections()
		server.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return server.URL
}

type response struct {
	status int
	header http.Header
	body   string
}

func request(t *testing.T, method, url, body string, headers ...string) response {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, string(raw)}
}

func post(t *testing.T, url, body string, headers ...string) response {
	t.Helper()
	return request(t, http.MethodPost, url, body, headers...)
}

const initializeBody = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func TestAnHTTPClientHasASessionWithAStdioServer(t *testing.T) {
	command, log := hostile(t)
	h := build(t, nil, hints(nil), nil)
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"hostile": command}, Local: tester, Guard: h.gate}) + "/mcp/hostile"
	first := post(t, url, initializeBody)
	session := first.header.Get("Mcp-Session-Id")
	if first.status != http.StatusOK || session == "" {
		t.Fatalf("got %+v", first)
	}
	if got := post(t, url, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", session); got.status != http.StatusAccepted {
		t.Errorf("a notification was answered with %d", got.status)
	}
	args := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"n":1}}}`
	got := post(t, url, args, "Mcp-Session-Id", session, "Idempotency-Key", `"add:order-1042:first"`)
	mustDecide(t, got.body, map[string]any{"decision": "execute", "status": "committed", "provenance": "runtime"})
	got = post(t, url, args, "Mcp-Session-Id", session, "Idempotency-Key", `add:order-1042:first`)
	mustDecide(t, got.body, map[string]any{"decision": "replay"})

	got = post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{"idempotency_key":"slow:order-1042:first"},"_meta":{"progressToken":7}}}`, "Mcp-Session-Id", session)
	mustContain(t, got.body, "event: message\ndata: {", `"progressToken":7`, "slow done")

	if got := request(t, http.MethodDelete, url, "", "Mcp-Session-Id", session); got.status != http.StatusOK {
		t.Errorf("DELETE was answered with %d", got.status)
	}
	if got := post(t, url, args, "Mcp-Session-Id", session); got.status != http.StatusNotFound {
		t.Errorf("a deleted session answers %d", got.status)
	}
	if n := len(received(t, log, "tools/call")); n != 2 {
		t.Errorf("the upstream received %d calls", n)
	}
}

func TestStatelessClientsShareAStdioServer(t *testing.T) {
	command, log := hostile(t)
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"hostile": command}, Local: tester}) + "/mcp/hostile"
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"p","together":8,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	results := make(chan response, 8)
	for range cap(results) {
		go func() {
			results <- post(t, url, body, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "slow")
		}()
	}
	for range cap(results) {
		got := <-results
		mustContain(t, got.body, `"progressToken":"p"`, `"id":1`, "slow done")
		if got.status != http.StatusOK || got.header.Get("Mcp-Session-Id") != "" || strings.Count(got.body, "data:") != 2 {
			t.Errorf("got %+v", got)
		}
	}
	if n := len(received(t, log, "tools/call")); n != cap(results) {
		t.Errorf("the upstream received %d calls", n)
	}
}

func TestBadHTTPRequestsReachNobody(t *testing.T) {
	command, log := hostile(t)
	h := build(t, nil, hints(nil), nil)
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"hostile": command}, Local: tester, Guard: h.gate, MaxBody: 1000}) + "/mcp/hostile"
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:first"}}}`
	for _, x := range []struct {
		name, body string
		status     int
		headers    []string
	}{
		{"a foreign origin", call, 403, []string{"Origin", "https://evil.example"}},
		{"a rebound name", call, 403, []string{"Host", "evil.example"}},
		{"no JSON", `{"jsonrpc":`, 400, nil},
		{"a batch", `[` + call + `]`, 400, nil},
		{"another content type", call, 415, []string{"Content-Type", "text/plain"}},
		{"an over-long body", `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"` + strings.Repeat("x", 2000) + `"}}`, 413, nil},
		{"a session that does not exist", call, 404, []string{"Mcp-Session-Id", "nope"}},
		{"headers that name another method", call, 400, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list", "Mcp-Name", "add"}},
		{"headers that name another tool", call, 400, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "get"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := post(t, url, x.body, x.headers...); got.status != x.status {
				t.Errorf("got %+v, want %d", got, x.status)
			}
		})
	}
	if n := len(received(t, log, "tools/call")); n != 0 {
		t.Errorf("the upstream received %d calls", n)
	}
	if got := request(t, http.MethodGet, url, ""); got.status != http.StatusMethodNotAllowed {
		t.Errorf("a GET without session is answered with %d", got.status)
	}
	if got := post(t, strings.TrimSuffix(url, "hostile")+"nope", call); got.status != http.StatusNotFound {
		t.Errorf("an unknown upstream is answered with %d", got.status)
	}
}

func TestABodyThatDoesNotArriveIsNotWaitedFor(t *testing.T) {
	command, _ := hostile(t)
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"hostile": command}, Local: tester, ReadWithin: time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "POST /mcp/hostile HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"jsonrpc\":"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || !resp.Close {
		t.Errorf("answered %s, and the connection ends: %t", resp.Status, resp.Close)
	}
	if _, err := in.ReadByte(); err == nil {
		t.Error("the connection goes on")
	}
}

func TestASessionBelongsToItsPrincipal(t *testing.T) {
	command, _ := hostile(t)
	url := serveHTTP(t, mcpgate.HTTPOptions{
		Upstreams: map[string]mcpgate.Upstream{"hostile": command},
		Principal: byToken,
	}) + "/mcp/hostile"
	session := post(t, url, initializeBody, "Authorization", "alice").header.Get("Mcp-Session-Id")
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for token, want := range map[string]int{"alice": 200, "bob": 404, "": 401} {
		if got := post(t, url, ping, "Authorization", token, "Mcp-Session-Id", session); got.status != want {
			t.Errorf("%q got %d, want %d", token, got.status, want)
		}
	}
}
