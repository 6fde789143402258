// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/notify"
	"github.com/deed-run/deed/policy"
)

// post is a notice as it came.
type post struct {
	body      []byte
	signature string
}

// TestANoticeSaysWhatAPersonNeeds lets a call wait for a person and another end
// in a doubt that no look-up has settled.
func TestANoticeSaysWhatAPersonNeeds(t *testing.T) {
	defer goleak.VerifyNone(t)
	posts := make(chan post, 4)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		posts <- post{body, r.Header.Get(notify.SignatureHeader)}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer hook.Close()
	dir := t.TempDir()
	config, err := policy.Parse(filepath.Join(dir, "deed.yaml"), []byte(`
ledger: sqlite:ledger.db
upstreams: {shop: {command: ["true"]}}
console: {address: "https://deed.example/"}
webhooks: [{url: "`+hook.URL+`", secret: "${HOOK_SECRET}"}]
budgets: {shop: {limit: 100, currency: EUR}}
tools:
  shop/charge: {effect: non_idempotent, approval: required}
  shop/refund:
    effect: non_idempotent
    budget: {name: shop, amount: /amount, currency: EUR}
    marker: {append: /note, search: "https://pay.example/?q={marker}&all=1"}
`), func(string) string { return "shared" })
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 4)
	c, err := Open(t.Context(), Options{Config: config, Ledger: Place(config.Ledger.Path), Transport: TransportTCP, Log: func(text string) {
		if strings.Contains(text, "uncertain") {
			said <- text
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if len(posts)+len(said) > 0 {
			t.Errorf("%d notices and %d lines were not expected", len(posts), len(said))
		}
	}()
	claim := func(tool deed.Tool, key string) (deed.Answer, *deed.Grant) {
		t.Helper()
		answer, grant, err := c.Runtime.Claim(t.Context(), deed.Call{
			Principal: deed.Principal{Tenant: "default", Actor: "support-agent", Rights: []deed.Right{deed.RightCall}},
			Tool:      tool, Key: deed.OperationKey(key), Arguments: []byte(`{"order":"1042","amount":12.5,"note":"damaged"}`),
			Facts: deed.ToolFacts{UpstreamIdentity: c.identityOf("shop")},
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer, grant
	}
	heard := func(op *deed.Operation) (got notify.Notice) {
		t.Helper()
		p := <-posts
		if err := json.Unmarshal(p.body, &got); err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(strings.TrimPrefix(p.signature, "t="), ",")
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || p.signature != notify.Sign("shared", time.Unix(seconds, 0), p.body) {
			t.Errorf("signed %q", p.signature)
		}
		if got.ID == "" || got.Operation != op.ID || got.Tool != op.Tool || got.Tenant != "default" || got.Actor != "support-agent" ||
			!got.Since.Equal(op.CreatedAt) || got.Console != "https://deed.example/op/"+string(op.ID) {
			t.Errorf("the notice of %s says %s", op.ID, p.body)
		}
		if strings.Contains(string(p.body), "1042") {
			t.Errorf("the notice carries arguments: %s", p.body)
		}
		return got
	}

	asked, _ := claim("shop/charge", "charge:order-1042:first")
	if got := heard(asked.Operation); got.Kind != notify.Approval || !got.ExpiresAt.Equal(asked.Operation.Approval.ExpiresAt) || got.Held != "" || got.Search != "" {
		t.Errorf("of a proposal: %+v", got)
	}

	_, grant := claim("shop/refund", "refund:order-1042:first")
	lost, err := c.Runtime.Settle(t.Context(), grant, deed.Outcome{Kind: deed.OutcomeUnknown, Message: "the connection broke"})
	if err != nil {
		t.Fatal(err)
	}
	op := lost.Operation
	// Nothing looks it up: people are told at once, and not a second time.
	got := heard(op)
	c.hear(t.Context(), deed.Event{ID: "ev_1", Tenant: op.Tenant, OperationID: op.ID, Tool: op.Tool, At: time.Now(), Name: deed.EventGaveUp, Actor: "look-ups"})
	if got.Kind != notify.Unresolved || got.Held != "12.50 EUR" || got.Search != "https://pay.example/?q="+op.Current().Marks.Marker+"&all=1" {
		t.Errorf("of a doubt: %+v", got)
	}
	text, id := <-said, string(op.ID)
	if !strings.HasPrefix(text, id+" (shop/refund) is uncertain since 2") ||
		!strings.HasSuffix(text, ": outcome unknown; nothing looks it up, so a person must find out what happened; deed ops show "+id+" --config "+config.File) {
		t.Errorf("the log says %q", text)
	}

	since := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	if _, err := c.SetFence(t.Context(), fenceOperator, since, "restored the copy"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.fence.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked, _ = claim("shop/charge", "charge:order-1043:first")
	if got := heard(asked.Operation); got.Kind != notify.Approval || !got.FencedSince.Equal(since) {
		t.Errorf("of a proposal under a fence: %+v", got)
	}
}
