// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
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

func clientAs(t *testing.T, d *daemon.Daemon, token string) *api.Client {
	t.Helper()
	client, err := api.New(api.Options{BaseURL: "http://" + d.Address(), Token: token, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// The gateway that is asked has not seen the tool since it started.
func TestAnEditIsCheckedAgainstTheSchemaOfTheTool(t *testing.T) {
	defer goleak.VerifyNone(t)
	more := approving()
	more["tools"] = map[string]any{"shop/pay.charge": map[string]any{"approval": map[string]any{"run": "on_call"}}}
	config := configuration(t, t.TempDir(), more)
	d := boot(t, config)
	op := ask(t, d, "POST", "/v1/tools/shop/pay.charge/calls", `{"arguments":{"order_id":"order-1","amount":5}}`)
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	d = boot(t, config)
	boss := clientAs(t, d, bossToken)
	edit := func(arguments string) (api.Operation, error) {
		return boss.Approve(t.Context(), deed.OperationID(op.Operation.ID), api.ApproveRequest{
			Digest: deed.Digest(waiting(t, boss, op.Operation.ID)), Arguments: json.RawMessage(arguments), Reason: "half is enough",
		})
	}
	for _, test := range []struct{ arguments, says string }{
		{`{"order_id":"order-1","amount":true}`, "at '/amount': got boolean, want number or string"},
		{`{"order_id":1}`, "at '/order_id': got number, want string"},
		{`{"amount":5}`, "missing property 'order_id'"},
	} {
		var refused *api.ProblemError
		_, err := edit(test.arguments)
		if !errors.As(err, &refused) || refused.Problem.Status != http.StatusBadRequest || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.arguments, err)
		}
	}
	next, err := edit(`{"order_id":"order-1","amount":2.5}`)
	if err != nil || string(next.OperationID) == op.Operation.ID || next.Supersedes != deed.OperationID(op.Operation.ID) {
		t.Errorf("an edit within the schema: %+v, %v", next, err)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// waiting is the digest of an operation that still waits for a decision.
func waiting(t *testing.T, boss *api.Client, id string) string {
	t.Helper()
	op, err := boss.Operation(t.Context(), deed.OperationID(id))
	if err != nil || op.Status != deed.StatusAwaitingApproval {
		t.Fatalf("it is %+v, %v", op, err)
	}
	return string(op.Approval.Digest)
}
