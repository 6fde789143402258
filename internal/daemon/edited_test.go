// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/policy"
	"github.com/deed-run/deed/sqlite"
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

// The server of the tool is gone since the proposal.
func TestAnEditIsCheckedAgainstThePinnedDefinitionOrRefused(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	file := approving()
	file["tools"] = map[string]any{"shop/pay.charge": map[string]any{"approval": map[string]any{"run": "on_call"}}}
	file["upstreams"] = map[string]any{"shop": map[string]any{
		"account": "live", "command": []string{os.Args[0], "fixture", "stdio", "--dir", filepath.Join(dir, "provider")},
	}}
	d := boot(t, configuration(t, dir, file))
	op := ask(t, d, "POST", "/v1/tools/shop/pay.charge/calls", `{"arguments":{"order_id":"order-1","amount":5}}`)
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	file["upstreams"] = map[string]any{"shop": map[string]any{"account": "live", "url": "http://127.0.0.1:1/inner"}}
	config := configuration(t, dir, file)
	id := deed.OperationID(op.Operation.ID)

	forgetPin(t, config, "shop/pay.charge", func() {
		d = boot(t, config)
		boss := clientAs(t, d, bossToken)
		for _, arguments := range []string{`{"order_id":"order-1","amount":2.5}`, `{"order_id":"order-1","amount":true}`} {
			var refused *api.ProblemError
			_, err := boss.Approve(t.Context(), id, api.ApproveRequest{
				Digest: deed.Digest(waiting(t, boss, op.Operation.ID)), Arguments: json.RawMessage(arguments), Reason: "half is enough",
			})
			if !errors.As(err, &refused) || refused.Problem.Status != http.StatusServiceUnavailable {
				t.Fatalf("an edit that nobody could check: %v", err)
			}
			for _, says := range []string{"the server shop does not say what shop/pay.charge takes (", "edit it again, or deny it", "nothing was changed"} {
				if !strings.Contains(refused.Problem.Detail, says) {
					t.Errorf("%q is not said: %s", says, refused.Problem.Detail)
				}
			}
			if strings.Contains(refused.Problem.Detail, "127.0.0.1") {
				t.Errorf("the server's address is told: %s", refused.Problem.Detail)
			}
		}
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})

	d = boot(t, config)
	boss := clientAs(t, d, bossToken)
	request := api.ApproveRequest{Digest: deed.Digest(waiting(t, boss, op.Operation.ID)), Reason: "half is enough"}
	request.Arguments = json.RawMessage(`{"order_id":"order-1","amount":true}`)
	if _, err := boss.Approve(t.Context(), id, request); err == nil || !strings.Contains(err.Error(), "at '/amount': got boolean, want number or string") {
		t.Errorf("an edit against the pinned schema: %v", err)
	}
	request.Arguments = json.RawMessage(`{"order_id":"order-1","amount":2.5}`)
	if next, err := boss.Approve(t.Context(), id, request); err != nil || next.Supersedes != id {
		t.Errorf("an edit within the pinned schema: %+v, %v", next, err)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// forgetPin does something while the ledger has no definition of the tool.
func forgetPin(t *testing.T, config *policy.Config, tool deed.Tool, meanwhile func()) {
	t.Helper()
	set := func(next []byte) (before []byte) {
		t.Helper()
		ledger, err := sqlite.Open(t.Context(), config.Ledger.Path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = ledger.Setting(t.Context(), mcpgate.PinName(tool), func(old []byte) []byte {
			before = append([]byte(nil), old...)
			return next
		})
		if err := errors.Join(err, ledger.Close()); err != nil {
			t.Fatal(err)
		}
		return before
	}
	before := set([]byte(`{}`))
	meanwhile()
	set(before)
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
