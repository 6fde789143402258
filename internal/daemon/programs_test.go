// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/daemon"
)

func bearing(t *testing.T, d *daemon.Daemon, token string) *api.Client {
	t.Helper()
	client, err := api.New(api.Options{
		BaseURL: "http://" + d.Address(), Token: token, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A gateway of which a program asks and to which nothing is ever sent needs no
// upstream.
func TestAProgramClaimsWhatOnlyItRuns(t *testing.T) {
	defer goleak.VerifyNone(t)
	d := boot(t, configuration(t, t.TempDir(), map[string]any{
		"upstreams": map[string]any{},
		"programs":  map[string]any{"billing": map[string]any{"account": "acct_1"}},
		"tools":     map[string]any{"billing/refund": map[string]any{"effect": "non_idempotent", "key": "required", "approval": "required"}},
		"auth":      approving()["auth"],
	}))
	defer func() {
		if err := d.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	agent, boss := bearing(t, d, agentToken), bearing(t, d, bossToken)
	wanted := api.ClaimRequest{Key: "refund:order-1:first", Tool: "billing/refund", Arguments: json.RawMessage(`{"order":1}`)}

	held, err := agent.Claim(t.Context(), wanted)
	if err != nil || held.Decision != deed.AwaitingApproval {
		t.Fatalf("the rule asks for a person: %+v, %v", held, err)
	}
	if run := held.Operation.Approval.Run; run != deed.RunOnCall {
		t.Errorf("what is approved runs %s, and nobody here could run it", run)
	}
	if op, err := boss.Operation(t.Context(), held.Operation.OperationID); err != nil || op.UpstreamIdentity != "acct_1" {
		t.Errorf("it goes to %q, %v", op.UpstreamIdentity, err)
	}
	if _, err := boss.Approve(t.Context(), held.Operation.OperationID, api.ApproveRequest{Digest: held.Operation.Approval.Digest}); err != nil {
		t.Fatal(err)
	}
	_, err = boss.Run(t.Context(), held.Operation.OperationID)
	if err == nil || !strings.Contains(err.Error(), "run by it alone") {
		t.Errorf("a person cannot send it from here: %v", err)
	}
	granted, err := agent.Claim(t.Context(), wanted)
	if err != nil || granted.Decision != deed.Execute || string(granted.Arguments) != `{"order":1}` {
		t.Errorf("the program's next claim runs it: %+v, %v", granted, err)
	}
	_, err = agent.Call(t.Context(), "billing/refund", "refund:order-2:first", api.CallRequest{Arguments: json.RawMessage(`{"order":2}`)})
	if !errors.Is(err, api.ErrNotFound) || !strings.Contains(err.Error(), "POST /v1/claims") {
		t.Errorf("a call that nobody can send: %v", err)
	}
}
