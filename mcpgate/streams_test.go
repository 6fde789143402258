// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/storetest"
)

// refusingServer is an HTTP/2 server that refuses or resets the stream of every tools/call after it has read it.
func refusingServer(t *testing.T, code http2.ErrCode, calls *atomic.Int32) *mcpgate.Remote {
	t.Helper()
	plain := httptest.NewUnstartedServer(http.NotFoundHandler())
	plain.TLS = &tls.Config{NextProtos: []string{"h2"}}
	plain.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
		"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) { refuseStreams(conn, code, calls) },
	}
	plain.StartTLS()
	t.Cleanup(plain.Close)
	transport := plain.Client().Transport.(*http.Transport)
	transport.ForceAttemptHTTP2 = true
	t.Cleanup(transport.CloseIdleConnections)
	return &mcpgate.Remote{URL: plain.URL, Transport: transport, Log: func(string) {}}
}

func refuseStreams(conn *tls.Conn, code http2.ErrCode, calls *atomic.Int32) {
	defer conn.Close()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return
	}
	framer := http2.NewFramer(conn, conn)
	if framer.WriteSettings() != nil {
		return
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = framer.WriteSettingsAck()
			}
		case *http2.DataFrame:
			if strings.Contains(string(f.Data()), "tools/call") {
				calls.Add(1)
			}
			if f.StreamEnded() {
				_ = framer.WriteRSTStream(f.StreamID, code)
			}
		}
	}
}

func TestHTTP2StreamsAreNeverOpenedAgain(t *testing.T) {
	for code, want := range map[http2.ErrCode]string{http2.ErrCodeRefusedStream: "failed", http2.ErrCodeInternal: "uncertain", http2.ErrCodeCancel: "uncertain"} {
		t.Run(code.String(), func(t *testing.T) {
			var calls atomic.Int32
			remote := refusingServer(t, code, &calls)
			c := serve(t, mcpgate.Stdio{Name: "h2", Upstream: remote, Principal: tester, Guard: build(t, nil, hints(nil), nil).gate})
			mustDecide(t, c.call("1", "pay", `{"idempotency_key":`+key1+`}`), map[string]any{"decision": "execute", "status": want})
			if n := calls.Load(); n != 1 {
				t.Errorf("the upstream received %d calls", n)
			}
		})
	}
}

// pollingServer closes the stream of a call after an event with an id and gives the reply to a GET with Last-Event-ID.
func pollingServer(calls, resumed *atomic.Int32) http.HandlerFunc {
	var id atomic.Value
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if r.Header.Get("Last-Event-Id") != "e-1" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			resumed.Add(1)
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "id: e-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", id.Load())
			return
		}
		raw, _ := io.ReadAll(r.Body)
		var m upstreamMessage
		_ = json.Unmarshal(raw, &m)
		switch {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "tools/call":
			calls.Add(1)
			id.Store(m.ID)
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: e-1\nretry: 1\ndata:\n\n")
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","tools":[]}}`, m.ID)
		}
	}
}

func TestACutStreamWithEventIDsIsReadOn(t *testing.T) {
	var calls, resumed atomic.Int32
	server := httptest.NewServer(pollingServer(&calls, &resumed))
	t.Cleanup(server.Close)
	remote := &mcpgate.Remote{URL: server.URL, Log: func(string) {}}
	t.Cleanup(func() { remote.Close() })
	c := serve(t, mcpgate.Stdio{Name: "poll", Upstream: remote, Principal: tester, Guard: build(t, nil, hints(nil), nil).gate})
	c.initialize()
	mustDecide(t, c.call("1", "pay", `{"idempotency_key":`+key1+`}`), map[string]any{"decision": "execute", "status": "committed"})
	if calls.Load() != 1 || resumed.Load() != 1 {
		t.Errorf("%d calls, %d resumed", calls.Load(), resumed.Load())
	}

	// A client that reads the stream itself gets the stream as it is.
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"poll": remote}}) + "/mcp/poll"
	session := post(t, url, initializeBody).header.Get("Mcp-Session-Id")
	got := post(t, url, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x"}}`, "Mcp-Session-Id", session)
	if got.body != "id: e-1\nretry: 1\ndata:\n\n" {
		t.Errorf("got %q", got.body)
	}
	got = request(t, http.MethodGet, url, "", "Mcp-Session-Id", session, "Last-Event-ID", "e-1")
	if want := "id: e-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[]}}\n\n"; got.body != want {
		t.Errorf("got %q", got.body)
	}
}

func TestRequestsOfAStdioServerReachTheStreamOfItsClient(t *testing.T) {
	command, _ := hostile(t)
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"hostile": command}}) + "/mcp/hostile"
	session := post(t, url, initializeBody).header.Get("Mcp-Session-Id")
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", session)
	req.Header.Set("Accept", "text/event-stream")
	stream, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	done := make(chan response, 1)
	go func() {
		done <- post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`, "Mcp-Session-Id", session)
	}()
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data:") {
	}
	if got := lines.Text(); got != `data: {"jsonrpc":"2.0","id":"server-1","method":"sampling/createMessage","params":{"n":9007199254740993}}` {
		t.Errorf("got %q", got)
	}
	if got := post(t, url, `{"jsonrpc":"2.0","id":"server-1","result":{"model":"m"}}`, "Mcp-Session-Id", session); got.status != http.StatusAccepted {
		t.Errorf("the answer got %d", got.status)
	}
	mustContain(t, (<-done).body, `\"model\":\"m\"`)
}

func TestAStatelessClientThatLeavesEndsItsSubscription(t *testing.T) {
	command, log := hostile(t)
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"hostile": command}}) + "/mcp/hostile"
	ctx, leave := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", "tools/call")
	req.Header.Set("Mcp-Name", "hang")
	left := make(chan error, 1)
	go func() {
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		left <- err
	}()
	until(t, "the request", func() bool { return len(received(t, log, "tools/call")) == 1 })
	leave()
	<-left
	until(t, "the cancellation", func() bool { return len(received(t, log, "notifications/cancelled")) == 1 })
}

func TestIdleSessionsEnd(t *testing.T) {
	clock := storetest.NewClock(time.Now())
	u := newHeld()
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"held": u}, Clock: clock, MaxSessions: 2}) + "/mcp/held"
	first := post(t, url, initializeBody).header.Get("Mcp-Session-Id")
	post(t, url, initializeBody)
	if got := post(t, url, initializeBody); got.status != http.StatusServiceUnavailable {
		t.Errorf("a third session got %d", got.status)
	}
	clock.Advance(2 * time.Hour)
	if got := post(t, url, initializeBody); got.status != http.StatusOK {
		t.Errorf("a session after the idle ones got %d", got.status)
	}
	if got := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", first); got.status != http.StatusNotFound {
		t.Errorf("an idle session answers %d", got.status)
	}
}
