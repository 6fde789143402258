// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// journal is a log that many may write.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) add(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text.WriteString(text + "\n")
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// hangingUp is the address of a server that reads what it is sent and hangs up.
func hangingUp(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/inner/mcp"
}

func TestAClientIsToldTheUpstreamsNameAndNotItsAddress(t *testing.T) {
	for name, c := range map[string]struct{ url, told string }{
		"nobody listens": {"http://127.0.0.1:1/inner/mcp", "not sent to the upstream billing: connection refused"},
		"no such name":   {"http://deed-test.invalid/inner/mcp", "not sent to the upstream billing: its name was not found (DNS)"},
		"it hangs up":    {hangingUp(t), "no answer from the upstream billing: "},
	} {
		t.Run(name, func(t *testing.T) {
			var log journal
			remote := &mcpgate.Remote{URL: c.url, Log: log.add}
			t.Cleanup(func() { _ = remote.Close() })
			h := build(t, nil, hints(nil), nil)
			client := serve(t, mcpgate.Stdio{Name: "billing", Upstream: remote, Principal: tester, Guard: h.gate})
			url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"billing": remote}, Local: tester, Guard: h.gate}) + "/mcp/billing"
			client.send(initializeBody)
			said := []string{client.next()}
			client.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			said = append(said, client.next(), post(t, url, initializeBody).body)
			for _, line := range said {
				mustContain(t, line, c.told)
				for _, inner := range []string{"127.0.0.1", "deed-test", "/inner", "tcp", "behind the gateway"} {
					if strings.Contains(line, inner) {
						t.Errorf("the client reads %q: %s", inner, line)
					}
				}
			}
			mustContain(t, log.String(), "upstream "+c.url+": initialize: no answer: ", "upstream "+c.url+": tools/list: no answer: ")

			client.call("2", "pay", `{"idempotency_key":`+key1+`}`)
			page, err := h.store.List(context.Background(), deed.Query{Tenant: tester.Tenant})
			if err != nil || len(page.Operations) != 1 {
				t.Fatalf("%d operations, %v", len(page.Operations), err)
			}
			mustContain(t, page.Operations[0].Message, "; behind the gateway: "+c.url+": ")
		})
	}
}
