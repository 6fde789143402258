// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package caller_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deed-run/deed/faultkit/caller"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serving answers every request with a fixed body.
func serving(t *testing.T, kind, body string) *caller.HTTP {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	s, err := caller.DialHTTP(t.Context(), server.URL, caller.Modern, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const note = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"},{"type":"text","text":"Already done"}],` +
	`"structuredContent":{"n":9007199254740993},"resultType":"complete","_meta":{"deed/operation":{"id":"op_1","key":"k","provenance":"runtime",` +
	`"status":"committed","decision":"replay","reason":"stored","replayed":true,"attempt":1,"fingerprint":"sha256:00",` +
	`"receipt":{"remote_id":"pay_1"},"retry_after":2.5,"similar_to":"op_0"}}}}`

func TestTheWordsOfAGatewayAreReadAsTheyStand(t *testing.T) {
	got, err := caller.CallTool(t.Context(), serving(t, "application/json", note), caller.Call{Tool: "t"})
	if err != nil {
		t.Fatal(err)
	}
	want := caller.Operation{
		ID: "op_1", Key: "k", Provenance: "runtime", Status: "committed", Decision: "replay", Reason: "stored", Replayed: true, Attempt: 1,
		Fingerprint: "sha256:00", Receipt: json.RawMessage(`{"remote_id":"pay_1"}`), RetryAfter: 2.5, SimilarTo: json.RawMessage(`"op_0"`),
	}
	if diff := cmp.Diff(&want, got.Operation); diff != "" {
		t.Errorf("operation (-want +got):\n%s", diff)
	}
	if got.Operation.RemoteID() != "pay_1" || string(got.Structured) != `{"n":9007199254740993}` || len(got.Texts) != 2 {
		t.Errorf("result %+v", got)
	}
}

func TestAnEventStreamMayHoldOtherMessagesBeforeTheAnswer(t *testing.T) {
	stream := "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n: a comment\n\ndata: " + note + "\n\n"
	got, err := caller.CallTool(t.Context(), serving(t, "text/event-stream", stream), caller.Call{Tool: "t"})
	if err != nil || got.Operation == nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatIsNoAnswerIsToldFromAnError(t *testing.T) {
	cases := []struct {
		name, kind, body string
		lost             bool
	}{
		{"half a body", "application/json", note[:40], true},
		{"a page", "text/html", "<html>", true},
		{"half a stream", "text/event-stream", "data: " + note[:40], true},
		{"an error", "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`, false},
	}
	for _, c := range cases {
		_, err := caller.CallTool(t.Context(), serving(t, c.kind, c.body), caller.Call{Tool: "t"})
		var rpc *caller.RPCError
		if errors.Is(err, caller.ErrNoAnswer) != c.lost || errors.As(err, &rpc) == c.lost {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestACallSaysWhatItsEraAsksFor(t *testing.T) {
	var header http.Header
	var body bytes.Buffer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		_, _ = io.Copy(&body, r.Body)
		_, _ = io.WriteString(w, note)
	}))
	defer server.Close()
	s, err := caller.DialHTTP(t.Context(), server.URL, caller.Modern, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = caller.CallTool(context.Background(), s, caller.Call{Tool: "pay.charge", Meta: map[string]any{"deed/idempotency-key": "k"}})
	if err != nil {
		t.Fatal(err)
	}
	if header.Get("Mcp-Method") != "tools/call" || header.Get("Mcp-Name") != "pay.charge" || header.Get("MCP-Protocol-Version") != caller.Modern {
		t.Errorf("header %v", header)
	}
	for _, want := range []string{`"deed/idempotency-key":"k"`, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`} {
		if !strings.Contains(body.String(), want) {
			t.Errorf("body %s lacks %s", body.String(), want)
		}
	}
}
