// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/server"
	"github.com/deed-run/deed/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tool deed.Tool = "pay/refund"

const firstKey = "refund:order-1042:first"

// payer is a tool that pays.
type payer struct {
	rt      *deed.Runtime
	effects int
}

func (p *payer) Call(ctx context.Context, call deed.Call) (deed.Answer, error) {
	if call.Tool != tool {
		return deed.Answer{}, server.ErrUnknownTool
	}
	a, grant, err := p.rt.Claim(ctx, call)
	if err != nil || grant == nil {
		return a, err
	}
	p.effects++
	return p.rt.Settle(ctx, grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_1"}, Result: []byte(`{"n":12345678901234567890}`)})
}

// gateway serves a real Runtime and returns a client of it.
func gateway(t *testing.T) (*api.Client, *payer, *storetest.Clock) {
	t.Helper()
	clock := storetest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	rule := deed.DefaultRule(tool)
	rule.Wait = -1
	rt, err := deed.New(deed.Options{Store: storetest.NewMemory(clock), Clock: clock, Policy: deed.FixedPolicy{tool: rule}})
	if err != nil {
		t.Fatal(err)
	}
	p := &payer{rt: rt}
	s, err := server.New(server.Options{Runtime: rt, Tools: p, Clock: clock, Auth: func(r *http.Request) (deed.Principal, bool) {
		who := deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightResolve}}
		return who, r.Header.Get("Authorization") == "Bearer s3cret"
	}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	client, err := api.New(api.Options{BaseURL: web.URL + "/", Token: "s3cret", HTTP: web.Client()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		web.Close()
		if err := rt.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return client, p, clock
}

func TestACallAndItsRepeat(t *testing.T) {
	ctx := context.Background()
	client, pay, _ := gateway(t)
	call := api.CallRequest{Arguments: json.RawMessage(`{"order_id":"1042","amount":12}`)}
	first, err := client.Call(ctx, tool, firstKey, call)
	if err != nil || first.Decision != deed.Execute || first.Operation.Receipt.RemoteID != "re_1" {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := client.Call(ctx, tool, firstKey, call)
	if err != nil || !again.Replayed() || string(again.Result) != string(first.Result) || pay.effects != 1 {
		t.Errorf("%+v, %v, %d effects", again, err, pay.effects)
	}
	call.Arguments = json.RawMessage(`{"order_id":"1042","amount":13}`)
	_, err = client.Call(ctx, tool, firstKey, call)
	if p, is := api.AsProblem(err); !errors.Is(err, api.ErrConflict) || !is || p.ExistingRemoteID != "re_1" {
		t.Errorf("%v", err)
	}
	if _, err = client.Call(ctx, tool, "", call); !errors.Is(err, api.ErrDenied) {
		t.Errorf("%v", err)
	}
	if _, err = client.Call(ctx, "pay/unknown", firstKey, call); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, err = client.Call(ctx, "refund", firstKey, call); err == nil || errors.Is(err, api.ErrNoAnswer) {
		t.Errorf("a tool without an upstream was sent: %v", err)
	}
}

func TestAnEffectOfOnesOwn(t *testing.T) {
	ctx := context.Background()
	client, _, clock := gateway(t)
	claim := api.ClaimRequest{Key: firstKey, Tool: tool, Arguments: json.RawMessage(`{"order_id":"1042"}`), ClaimToken: "job-7/1", Meta: map[string]string{"conversation": "c1"}}
	granted, err := client.Claim(ctx, claim)
	if err != nil || granted.Decision != deed.Execute {
		t.Fatalf("%+v, %v", granted, err)
	}
	again, err := client.Claim(ctx, claim)
	if !again.Regranted {
		t.Error("an attempt that was granted before is not said to be")
	}
	again.Regranted = false
	if diff := cmp.Diff(granted, again); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	clock.Advance(10 * time.Second)
	lease, err := client.Renew(ctx, granted.OperationID, api.RenewRequest{Attempt: granted.Attempt})
	if err != nil || !lease.LeaseExpiresAt.Equal(granted.LeaseExpiresAt.Add(10*time.Second)) {
		t.Errorf("%+v, %v", lease, err)
	}
	outcome := api.SettleRequest{Attempt: granted.Attempt, Outcome: api.SettleCommitted, Receipt: &api.StatedReceipt{RemoteID: "re_9"}}
	for range 2 {
		op, err := client.Settle(ctx, granted.OperationID, outcome)
		if err != nil || op.Status != deed.StatusCommitted || op.Receipt.RemoteID != "re_9" {
			t.Errorf("%+v, %v", op, err)
		}
	}
	if _, err := client.Settle(ctx, granted.OperationID, api.SettleRequest{Attempt: 1, Outcome: api.SettleRefused}); !errors.Is(err, api.ErrRefused) {
		t.Errorf("%v", err)
	}
	if _, err := client.Renew(ctx, granted.OperationID, api.RenewRequest{Attempt: 1}); !errors.Is(err, api.ErrStale) {
		t.Errorf("%v", err)
	}
	events, err := client.Events(ctx, granted.OperationID)
	if err != nil || len(events) < 3 {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestWorkIsFoundAgainAndDecided(t *testing.T) {
	ctx := context.Background()
	client, _, clock := gateway(t)
	var ids []deed.OperationID
	for n := range 5 {
		clock.Advance(time.Millisecond)
		granted, err := client.Claim(ctx, api.ClaimRequest{
			Key: fmt.Sprintf("refund:order-%d:first", n), Tool: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"order_id":"%d"}`, n)),
			Meta: map[string]string{"conversation": fmt.Sprintf("c%d", n%2)},
		})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, granted.OperationID)
	}
	var found []deed.OperationID
	query := api.Query{Statuses: []deed.Filter{deed.FilterPending}, Meta: map[string]string{"conversation": "c0"}, Limit: 1}
	for op, err := range client.Operations(ctx, query) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, op.OperationID)
	}
	if diff := cmp.Diff([]deed.OperationID{ids[4], ids[2], ids[0]}, found); diff != "" {
		t.Error(diff)
	}
	for op, err := range client.Operations(ctx, api.Query{Limit: 1}) {
		if err != nil || op.OperationID != ids[4] {
			t.Errorf("%+v, %v", op, err)
		}
		break
	}
	for _, err := range client.Operations(ctx, api.Query{Statuses: []deed.Filter{"nonsense"}}) {
		if !errors.Is(err, api.ErrDenied) {
			t.Errorf("%v", err)
		}
	}
	if op, err := client.Cancel(ctx, ids[0], "no longer wanted"); err != nil || !op.NoMoreAttempts {
		t.Errorf("%+v, %v", op, err)
	}
	if op, err := client.Resolve(ctx, ids[1], api.ResolveRequest{Outcome: deed.ResolveAbandon, Reason: "lost"}); !errors.Is(err, api.ErrRefused) {
		t.Errorf("a live attempt was resolved: %+v, %v", op, err)
	}
	clock.Advance(time.Hour)
	op, err := client.Resolve(ctx, ids[1], api.ResolveRequest{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"re_7"}, Reason: "seen"})
	if err != nil || op.Status != deed.StatusCommitted {
		t.Errorf("%+v, %v", op, err)
	}
	if op, err = client.Operation(ctx, ids[1]); err != nil || op.Receipt.RemoteID != "re_7" {
		t.Errorf("%+v, %v", op, err)
	}
	if _, err = client.Reopen(ctx, ids[1], "why not"); !errors.Is(err, api.ErrRefused) {
		t.Errorf("what was done was reopened: %v", err)
	}
	if _, err = client.Operation(ctx, "op_1"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("%v", err)
	}
	stats, err := client.Stats(ctx)
	if err != nil || stats.Statuses[deed.StatusCommitted] != 1 || stats.Statuses[deed.StatusUncertain] != 4 {
		t.Errorf("%+v, %v", stats, err)
	}
}
