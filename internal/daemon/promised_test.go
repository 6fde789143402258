// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/internal/daemon"
)

// The tool took the call and promised its result; then the gateway that waited for
// it ended. Its successor reads the task.
func TestATaskWhoseGatewayEndedIsReadByTheNext(t *testing.T) {
	p, at := shop(t)
	if err := p.SetFaults(provider.Fault{Fault: provider.Task, Tool: "pay.charge", Times: 1}); err != nil {
		t.Fatal(err)
	}
	config := configuration(t, t.TempDir(), map[string]any{
		"auth":      markedTickets(at, at, "./ticket.search")["auth"],
		"upstreams": map[string]any{"shop": map[string]any{"url": at}},
		"tools":     map[string]any{"shop/pay.charge": map[string]any{"effect": "non_idempotent", "receipt": map[string]any{"id": "/structuredContent/id"}}},
	})
	const key = "charge:order-1042:first"
	d := boot(t, config)
	if said := chargeAsTask(t, d, key); !strings.Contains(said, `"taskId"`) {
		t.Fatalf("the call was given no task: %s", said)
	}
	ended, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = d.Stop(ended)

	d = boot(t, config)
	page, err := bearing(t, d, agentToken).Page(t.Context(), api.Query{Key: key})
	if err != nil || len(page.Operations) != 1 || page.Operations[0].Status != deed.StatusUncertain {
		t.Fatalf("%+v, %v", page, err)
	}
	p.Release("")
	committed(t, d, "/v1/operations/"+string(page.Operations[0].OperationID))
	if said := chargeAsTask(t, d, key); !strings.Contains(said, `"decision":"replay"`) || !strings.Contains(said, `"established_by":"reconcile:task"`) || !strings.Contains(said, `"remote_id":"pay_000001"`) {
		t.Errorf("a repeat is answered %s", said)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := effectsAt(t, p); n != 1 {
		t.Errorf("%d effects", n)
	}
}

// chargeAsTask calls a tool as a client that takes tasks.
func chargeAsTask(t *testing.T, d *daemon.Daemon, key string) string {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay.charge","arguments":{"order_id":"1042","amount":1},"_meta":{"deed/idempotency-key":"` + key +
		`","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+d.Address()+"/mcp/shop", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + agentToken, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "pay.charge",
	} {
		req.Header.Set(name, value)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	said, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}
