// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/sqlite"
)

// agentAndBoss may call, and decide.
const agentToken, bossToken = "agent-token", "boss-token"

func approving() map[string]any {
	token := func(text, actor string, rights ...string) map[string]any {
		return map[string]any{"sha256": hashOf(text), "tenant": "acme", "actor": actor, "rights": rights}
	}
	return map[string]any{
		"auth":  map[string]any{"tokens": []any{token(agentToken, "agent", "call", "read"), token(bossToken, "boss", "read", "approve")}},
		"tools": map[string]any{"shop/pay.charge": map[string]any{"approval": "required"}, "shop/pay.refund": map[string]any{"approval": "required"}},
	}
}

// ask makes a request of the API and reads the operation in its answer.
func ask(t *testing.T, d *daemon.Daemon, method, path, body string) (op struct {
	Status    string
	Approval  struct{ Digest string }
	Operation struct {
		ID string `json:"operation_id"`
	}
}) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+d.Address()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bossToken)
	if strings.HasSuffix(path, "/calls") {
		req.Header.Set("Authorization", "Bearer "+agentToken)
		req.Header.Set("Idempotency-Key", "refund:order-1:first")
	}
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(&op); err != nil || res.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %v", method, path, res.StatusCode, err)
	}
	return op
}

// approved fills the ledger with approved operations of a server that no
// gateway of the test has.
func approved(t *testing.T, path string, n int) {
	t.Helper()
	ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rule := deed.DefaultRule("elsewhere/send")
	rule.Approval = &deed.ApprovalRule{}
	rt, err := deed.New(deed.Options{Store: ledger, Policy: deed.FixedPolicy{"elsewhere/send": rule}})
	if err != nil {
		t.Fatal(err)
	}
	agent := deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead}}
	boss := deed.Principal{Tenant: "acme", Actor: "boss", Rights: []deed.Right{deed.RightRead, deed.RightApprove}}
	for i := range n {
		answer, _, err := rt.Claim(t.Context(), deed.Call{
			Principal: agent, Tool: "elsewhere/send", Key: deed.OperationKey(fmt.Sprintf("send:to:somebody:%d", i)), Arguments: fmt.Appendf(nil, `{"n":%d}`, i),
		})
		if err != nil || answer.Operation == nil {
			t.Fatalf("%v %+v", err, answer)
		}
		if _, err := rt.Approve(t.Context(), boss, answer.Operation.ID, deed.Consent{Digest: answer.Operation.Approval.Digest}); err != nil {
			t.Fatal(err)
		}
	}
	if err := rt.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatNobodyHereSendsHoldsUpNothing(t *testing.T) {
	defer goleak.VerifyNone(t)
	config := configuration(t, t.TempDir(), approving())
	approved(t, config.Ledger.Path, 120)
	d := boot(t, config)
	defer func() {
		if err := d.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	id := charge(t, d, agentToken).Operation.ID
	path := "/v1/operations/" + id
	approve(t, d, path)
	committed(t, d, path)
}

// committed waits until the operation is.
func committed(t *testing.T, d *daemon.Daemon, path string) {
	t.Helper()
	within := time.After(30 * time.Second)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for ask(t, d, http.MethodGet, path, "").Status != "committed" {
		select {
		case <-again.C:
		case <-within:
			t.Fatal("what was approved was not sent")
		}
	}
}

// approve consents to the operation as it stands.
func approve(t *testing.T, d *daemon.Daemon, path string) {
	t.Helper()
	digest := ask(t, d, http.MethodGet, path, "").Approval.Digest
	ask(t, d, http.MethodPost, path+"/approve", `{"digest":"`+digest+`"}`)
}

func TestAGatewayThatAsksForNoConsentLeavesWhatWasApprovedAlone(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	first := boot(t, configuration(t, dir, approving()))
	id := charge(t, first, agentToken).Operation.ID
	if err := first.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	more := approving()
	delete(more["tools"].(map[string]any), "shop/pay.charge")
	config := configuration(t, dir, more)
	second := boot(t, config)
	defer func() {
		if err := second.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	path := "/v1/operations/" + id
	approve(t, second, path)
	other := "/v1/operations/" + ask(t, second, http.MethodPost, "/v1/tools/shop/pay.refund/calls", `{"arguments":{"order_id":"order-1","amount":5}}`).Operation.ID
	approve(t, second, other)
	committed(t, second, other)
	if got := ask(t, second, http.MethodGet, path, "").Status; got != "authorized" {
		t.Errorf("it is %s", got)
	}
}
