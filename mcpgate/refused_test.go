// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// refusing is a Streamable HTTP server, or a proxy before one, that answers some methods with a bare HTTP status, and counts them.
type refusing struct {
	status int
	page   string
	bare   map[string]bool

	mu    sync.Mutex
	asked map[string]int
}

func (s *refusing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var m upstreamMessage
	if r.Method != http.MethodPost || json.Unmarshal(raw, &m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	s.mu.Lock()
	s.asked[m.Method]++
	s.mu.Unlock()
	switch {
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case s.bare[m.Method]:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(s.status)
		fmt.Fprint(w, s.page)
	case m.Method == "tools/list":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"get","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}}`, m.ID)
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	}
}

func refuses(t *testing.T, status int, methods ...string) (*refusing, *mcpgate.Remote) {
	t.Helper()
	s := &refusing{status: status, page: "<html><b>no entry</b></html>", bare: map[string]bool{}, asked: map[string]int{}}
	for _, m := range methods {
		s.bare[m] = true
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	remote := &mcpgate.Remote{URL: server.URL, Log: func(string) {}}
	t.Cleanup(func() { remote.Close() })
	return s, remote
}

func TestAClientOnLinesHearsOfAnAnswerThatIsNoJSONRPC(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusUnauthorized, http.StatusNotFound, http.StatusServiceUnavailable} {
		for _, x := range []struct{ name, method, params string }{
			{"the greeting", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`},
			{"a list", "tools/list", `{}`},
			{"a method that nobody guards", "resources/read", `{"uri":"x:y"}`},
			{"a read", "tools/call", `{"name":"get","arguments":{}}`},
		} {
			t.Run(fmt.Sprintf("%s is answered with %d", x.name, status), func(t *testing.T) {
				server, remote := refuses(t, status, x.method)
				c := serve(t, mcpgate.Stdio{Name: "bad", Upstream: remote, Principal: tester, Guard: build(t, nil, hints(nil), nil).gate})
				if x.method != "initialize" {
					c.initialize()
				}
				if x.method == "tools/call" {
					c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
					c.reply("1")
				}
				c.send(`{"jsonrpc":"2.0","id":2,"method":%q,"params":%s}`, x.method, x.params)
				mustContain(t, c.reply("2"), `"error"`, x.method, fmt.Sprint("HTTP ", status), "not sent again", "no entry")
				if n := server.asked[x.method]; n != 1 {
					t.Errorf("the upstream was asked %d times", n)
				}
			})
		}
	}
}

func TestAReadOfAnUnlistedToolThatIsRefusedIsAnError(t *testing.T) {
	_, remote := refuses(t, http.StatusBadGateway, "tools/call", "tools/list")
	reads := hints(func(rule *deed.Rule) { rule.Effect = deed.EffectReadOnly })
	gate := build(t, nil, reads, nil).gate
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"bad": remote}, Guard: gate, Local: tester}) + "/mcp/bad"
	opened := post(t, url, initializeBody)
	response := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get","arguments":{}}}`,
		"Mcp-Session-Id", opened.header.Get("Mcp-Session-Id"))
	mustContain(t, response.body, `"id":2`, `"error"`, "HTTP 502")
}
