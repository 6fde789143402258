// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/storetest"
)

const innerURL = "https://10.0.0.7/inner"

// Of a call that failed its caller reads what happened, and those who look after
// operations also where.
func TestACallerIsNotToldWhereItsCallFailed(t *testing.T) {
	onEveryStore(t, nil, func(r *rig) {
		t := r.t
		r.tools.identity = innerURL
		broken := &deed.Veiled{Told: "connection refused", Err: errors.New("POST " + innerURL + ": dial tcp 10.0.0.7:443")}
		r.tools.outcome = &deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonOutcomeUnknown, Message: broken.Error()}
		bodies := map[string]string{}
		p := r.call(firstKey, refund12).want(409, deed.Execute, deed.ReasonOutcomeUnknown)
		if p.Operation.Message != "connection refused" || !strings.HasSuffix(p.Detail, "(connection refused)") {
			t.Errorf("its caller reads %q, %q", p.Operation.Message, p.Detail)
		}
		path := "/v1/operations/" + string(p.OperationID)
		bodies["the repeat"] = r.call(firstKey, refund12).Body.String()
		bodies["the operation"] = r.get("agent", path).Body.String()
		bodies["the events"] = r.get("agent", path+"/events").Body.String()
		bodies["the list"] = r.get("agent", "/v1/operations").Body.String()
		bodies["what is cancelled"] = r.do(request{method: "POST", path: path + "/cancel", body: `{"reason":"enough"}`}).Body.String()
		for what, body := range bodies {
			if strings.Contains(body, "10.0.0.7") || strings.Contains(body, "behind the gateway") {
				t.Errorf("%s names the upstream's address: %s", what, body)
			}
		}
		for _, who := range []string{"reader", "approver", "operator"} {
			var op api.Operation
			r.get(who, path).into(200, &op)
			if op.Message != broken.Error() || op.UpstreamIdentity != innerURL {
				t.Errorf("%s reads %q, %q", who, op.Message, op.UpstreamIdentity)
			}
		}
	})
}

// Evidence about an attempt is kept as an event, with its text.
func TestACallerIsNotToldWhereEvidenceComesFrom(t *testing.T) {
	r := newRig(t, nil)
	var granted api.ClaimAnswer
	r.post("/v1/claims", `{"key":"`+firstKey+`","tool":"pay/refund","arguments":{"order_id":"1042"}}`).into(200, &granted)
	path := "/v1/operations/" + string(granted.OperationID)
	settle := func(outcome string) {
		r.do(request{method: "POST", path: "/v1/claims/" + string(granted.OperationID) + "/settle", body: `{"attempt":1,"outcome":"` + outcome +
			`","message":"a reset; behind the gateway: 10.0.0.7:443"}`})
	}
	settle("committed")
	settle("refused")
	for who, want := range map[string]string{"agent": `"message":"a reset"`, "reader": `"message":"a reset; behind the gateway: 10.0.0.7:443"`} {
		if body := compact(t, r.get(who, path+"/events").Body.Bytes()); !strings.Contains(body, want) {
			t.Errorf("%s reads %s", who, body)
		}
	}
}

// unreachable is a ledger that cannot be reached from some moment on.
type unreachable struct {
	deed.Store
	now bool
}

var errUnreachable = fmt.Errorf("writing the ledger deed on 127.0.0.1:55432: %w: failed to connect to `user=deed database=deed`", deed.ErrUnavailable)

func (u *unreachable) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	if u.now {
		return deed.View{}, errUnreachable
	}
	return u.Store.Transact(ctx, scope, change)
}

// Where the ledger is, and as whom it is asked, is for whoever runs the gateway.
func TestACallerIsNotToldWhereTheLedgerIs(t *testing.T) {
	clock := storetest.NewClock(noon)
	store := &unreachable{Store: storetest.NewMemory(clock)}
	r := newRigOver(t, clock, store, nil)
	r.tools.sending = func() { store.now = true }
	lost := r.call(firstKey, refund12)
	p := lost.want(409, deed.Uncertain, deed.ReasonOutcomeUnknown)
	if !strings.HasSuffix(p.Detail, "(the outcome could not be recorded yet)") {
		t.Errorf("of an outcome that could not be recorded: %q", p.Detail)
	}
	refused := r.call("refund:order-1043:first", refund12)
	p = refused.want(503, deed.Denied, deed.ReasonStoreUnavailable)
	if !strings.HasSuffix(p.Detail, "(the ledger cannot be reached)") {
		t.Errorf("of a call that was not begun: %q", p.Detail)
	}
	for _, body := range []string{lost.Body.String(), refused.Body.String()} {
		if strings.Contains(body, "55432") || strings.Contains(body, "user=") {
			t.Errorf("the answer says where the ledger is: %s", body)
		}
	}
	store.now = false
}
