// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// A client that has closed its side of the connection still reads: net/http ends the request's context.
func TestAClientThatHasClosedItsSideIsNotToldThatItsCallIsOver(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		t.Run(kind, func(t *testing.T) {
			entered, leave := make(chan struct{}), make(chan struct{})
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), "tools/call") {
					return
				}
				w.Header().Set("Content-Type", kind)
				if kind == "text/event-stream" {
					_, _ = io.WriteString(w, ": on its way\n\n")
					_ = http.NewResponseController(w).Flush()
				}
				close(entered)
				<-leave
			}))
			defer upstream.Close()
			remote := &mcpgate.Remote{URL: upstream.URL}
			defer func() { _ = remote.Close() }()
			url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"pay": remote}, Local: deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall}}})
			conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"refund","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
			if _, err := fmt.Fprintf(conn, "POST /mcp/pay HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: refund\r\nContent-Length: %d\r\n\r\n%s", len(call), call); err != nil {
				t.Fatal(err)
			}
			defer close(leave)
			<-entered
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				return // cut before anything was written: nothing is claimed
			}
			defer func() { _ = resp.Body.Close() }()
			if body, err := io.ReadAll(resp.Body); err == nil && !strings.Contains(string(body), `"id"`) {
				t.Errorf("answered %s, whole body %q, while the tool has not answered", resp.Status, body)
			}
		})
	}
}
