// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/daemon"
)

// draining is a gateway for a program, which has one hour to stop.
func draining(t *testing.T, log func(string)) *daemon.Daemon {
	t.Helper()
	config := configuration(t, t.TempDir(), map[string]any{
		"upstreams": map[string]any{},
		"programs":  map[string]any{"billing": map[string]any{}},
		"tools":     map[string]any{"billing/refund": map[string]any{"effect": "non_idempotent", "key": "required", "lease": "1h"}},
	})
	d, err := daemon.New(t.Context(), daemon.Options{Config: config, Ledger: daemon.Place(config.Ledger.Path), Environ: os.Environ(), Drain: time.Hour, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	d.SetNotice(0)
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

func refund(key string) api.ClaimRequest {
	return api.ClaimRequest{Key: key, Tool: "billing/refund", Arguments: json.RawMessage(`{"order":1}`), ClaimToken: "worker-1:" + key}
}

// refusing waits until a gateway that stops takes no new claim. What it asks with
// would begin nothing before, either.
func refusing(t *testing.T, worker *api.Client) {
	t.Helper()
	for {
		var refused *api.ProblemError
		_, err := worker.Claim(t.Context(), api.ClaimRequest{})
		switch {
		case !errors.As(err, &refused):
			t.Fatal(err)
		case refused.Problem.Status == http.StatusServiceUnavailable && strings.HasSuffix(refused.Problem.Type, "#"+api.TypeNoAnswer):
			return
		case refused.Problem.Status != http.StatusBadRequest:
			t.Fatal(err)
		}
	}
}

// A gateway that stops takes no new claim, and the worker that has one settles it:
// then the gateway ends, long before its drain does.
func TestAWorkerSettlesWhileAGatewayDrains(t *testing.T) {
	defer goleak.VerifyNone(t)
	d := draining(t, func(text string) { t.Log(text) })
	worker := bearing(t, d, "")
	claim, err := worker.Claim(t.Context(), refund("refund:order-1:first"))
	if err != nil || claim.Decision != deed.Execute {
		t.Fatalf("%+v, %v", claim, err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- d.Stop(context.Background()) }()
	refusing(t, worker)
	if got := get(t, d, "/readyz"); got != "503 stopping" {
		t.Errorf("it is %s", got)
	}
	lease, err := worker.Renew(t.Context(), claim.OperationID, api.RenewRequest{Attempt: claim.Attempt, ClaimToken: "worker-1:refund:order-1:first"})
	if err != nil || lease.Attempt != claim.Attempt {
		t.Errorf("a renewal: %+v, %v", lease, err)
	}
	op, err := worker.Settle(t.Context(), claim.OperationID, api.SettleRequest{
		Attempt: claim.Attempt, ClaimToken: "worker-1:refund:order-1:first", Outcome: api.SettleCommitted, Receipt: &api.StatedReceipt{RemoteID: "re_1"},
	})
	if err != nil || op.Status != deed.StatusCommitted {
		t.Errorf("the settlement: %+v, %v", op, err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// A claim that nobody settles holds a gateway up no longer than its drain, and whoever
// stops it is told.
func TestAGatewayThatDrainedTellsOfClaimsThatAreOut(t *testing.T) {
	defer goleak.VerifyNone(t)
	lines := make(chan string, 100)
	d := draining(t, func(text string) { lines <- text })
	if claim, err := bearing(t, d, "").Claim(t.Context(), refund("refund:order-1:first")); err != nil || claim.Decision != deed.Execute {
		t.Fatalf("%+v, %v", claim, err)
	}
	over, end := context.WithCancel(context.Background())
	end()
	if err := d.Stop(over); err != nil {
		t.Error(err)
	}
	close(lines)
	var told []string
	for line := range lines {
		told = append(told, line)
	}
	if all := strings.Join(told, "\n"); !strings.Contains(all, "stopped before 1 claim was settled: the workers may settle") {
		t.Errorf("it told:\n%s", all)
	}
}
