// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/daemon"
)

func clientOf(t *testing.T, d *daemon.Daemon) *api.Client {
	t.Helper()
	client, err := api.New(api.Options{BaseURL: "http://" + d.Address(), HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestAnOperationIsTheSameOverMCPAndHTTP(t *testing.T) {
	defer goleak.VerifyNone(t)
	config := configuration(t, t.TempDir(), nil)
	call := api.CallRequest{Arguments: json.RawMessage(`{"order_id":"order-1","amount":5.0}`)}
	other := api.CallRequest{Arguments: json.RawMessage(`{"order_id":"order-2","amount":5}`)}

	d := boot(t, config)
	if got := charge(t, d, "").Operation; got.Decision != "execute" {
		t.Fatalf("over MCP: %s", got.Decision)
	}
	answer, err := clientOf(t, d).Call(t.Context(), "shop/pay.charge", "charge:order-1:first", call)
	if err != nil || answer.Decision != deed.Replay || answer.Operation.Status != deed.StatusCommitted {
		t.Errorf("over HTTP, what was begun over MCP: %+v, %v", answer, err)
	}
	answer, err = clientOf(t, d).Call(t.Context(), "shop/pay.charge", "charge:order-2:first", other)
	if err != nil || answer.Decision != deed.Execute || answer.Operation.Status != deed.StatusCommitted {
		t.Errorf("over HTTP: %+v, %v", answer, err)
	}
	claim, err := clientOf(t, d).Claim(t.Context(), api.ClaimRequest{Key: "charge:order-2:first", Tool: "shop/pay.charge", Arguments: other.Arguments})
	if err != nil || claim.Decision != deed.Replay {
		t.Errorf("claimed, what was done: %+v, %v", claim, err)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}

	d = boot(t, config)
	answer, err = clientOf(t, d).Call(t.Context(), "shop/pay.charge", "charge:order-2:first", other)
	if err != nil || answer.Decision != deed.Replay {
		t.Errorf("after a restart: %+v, %v", answer, err)
	}
	if _, err = clientOf(t, d).Call(t.Context(), "nobody/pay.charge", "charge:order-2:first", other); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("an unknown upstream: %v", err)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
