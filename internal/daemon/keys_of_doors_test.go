// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/internal/daemon"
)

// A program may call the same thing by three doors; what its header says must
// not depend on which.
func TestEveryDoorReadsTheHeaderAlike(t *testing.T) {
	defer goleak.VerifyNone(t)
	api, made := refunds(t)
	defer api.Close()
	d := boot(t, configuration(t, t.TempDir(), map[string]any{
		"http":   map[string]any{"payments": map[string]any{"url": api.URL, "headers": map[string]any{"Authorization": "Bearer of-the-gateway"}}},
		"routes": map[string]any{"POST payments/v1/refunds": map[string]any{"key": "required"}},
		"tools":  map[string]any{"shop/pay.charge": map[string]any{"key": "required"}, "shop/pay.refund": map[string]any{"key": "required"}},
	}))
	doors := map[string]func(t *testing.T, d *daemon.Daemon, lines []string) string{"mcp": byMCP, "api": byAPI, "http": byRoute}
	for _, c := range []struct {
		name, reason string
		lines        []string // KEY stands for the door's key
	}{
		{"bare", "", []string{`KEY`}},
		{"quoted", "", []string{`"KEY"`}},
		{"quoted with a parameter", "", []string{`"KEY";a=1`}},
		{"twice the same", "", []string{`KEY`, `"KEY"`}},
		{"twice the same on a line", "", []string{`KEY, "KEY"`}},
		{"two on two lines", "key_carriers_disagree", []string{`KEY`, `KEY-other`}},
		{"two on a line", "key_carriers_disagree", []string{`"KEY", "KEY-other"`}},
		{"empty", "bad_key", []string{``}},
		{"a key and an empty one", "bad_key", []string{`KEY,`}},
		{"an open quote", "bad_key", []string{`"KEY`}},
		{"text behind the quote", "bad_key", []string{`"KEY"x`}},
		{"a bad escape", "bad_key", []string{`"\KEY"`}},
		{"a quote in a bare key", "bad_key", []string{`KEY"x"`}},
		{"beyond ASCII", "bad_key", []string{"KEY\xc3\xa9"}},
		{"none", "missing_operation_key", nil},
	} {
		for door, call := range doors {
			t.Run(c.name+" by "+door, func(t *testing.T) {
				var lines []string
				for _, line := range c.lines {
					lines = append(lines, strings.ReplaceAll(line, "KEY", "door:"+door+":order-1"))
				}
				if got := call(t, d, lines); got != c.reason {
					t.Errorf("it is denied as %q, want %q", got, c.reason)
				}
			})
		}
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if made.Load() != 1 {
		t.Errorf("%d refunds were made", made.Load())
	}
}

// byMCP, byAPI and byRoute make a call and tell why it was denied, "" if it was
// not.
func byMCP(t *testing.T, d *daemon.Daemon, lines []string) string {
	t.Helper()
	s, err := caller.DialHTTP(t.Context(), "http://"+d.Address()+"/mcp/shop", caller.Legacy, http.Header{"Idempotency-Key": lines})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	result, err := caller.CallTool(t.Context(), s, caller.Call{Tool: "pay.charge", Arguments: json.RawMessage(`{"order_id":"order-1","amount":5}`)})
	if err != nil {
		t.Fatal(err)
	}
	if result.Operation == nil {
		t.Fatalf("no verdict in %s", result.Raw)
	}
	return deniedAs(result.Operation.Decision, result.Operation.Reason)
}

func byAPI(t *testing.T, d *daemon.Daemon, lines []string) string {
	t.Helper()
	_, body := sendKeyed(t, d, "/v1/tools/shop/pay.refund/calls", `{"arguments":{"order_id":"order-1","amount":5}}`, lines)
	var verdict struct{ Decision, Reason string }
	if err := json.Unmarshal(body, &verdict); err != nil {
		t.Fatal(err)
	}
	return deniedAs(verdict.Decision, verdict.Reason)
}

func byRoute(t *testing.T, d *daemon.Daemon, lines []string) string {
	t.Helper()
	header, _ := sendKeyed(t, d, "/http/payments/v1/refunds", `{"order":1}`, lines)
	return deniedAs(header.Get("Deed-Decision"), header.Get("Deed-Reason"))
}

func deniedAs(decision, reason string) string {
	if decision == "denied" {
		return reason
	}
	return ""
}

func sendKeyed(t *testing.T, d *daemon.Daemon, path, body string, lines []string) (http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+d.Address()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": lines}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.Header, answer
}
