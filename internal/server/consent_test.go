// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// needsOne lets refunds wait for a person, and costs what they ask for.
func needsOne(rule *deed.Rule) {
	rule.Approval = &deed.ApprovalRule{}
	rule.Spend = &deed.SpendRule{Budget: refunds, Amount: func(arguments []byte) (deed.Amount, error) {
		var body struct{ Amount json.Number }
		if err := json.Unmarshal(arguments, &body); err != nil {
			return 0, err
		}
		return deed.ParseAmount(body.Amount.String())
	}}
}

// proposed calls the tool and returns the proposal that waits.
func proposed(r *rig) api.CallAnswer {
	r.t.Helper()
	var waiting api.CallAnswer
	r.do(request{as: "agent", method: "POST", path: "/v1/tools/pay/refund/calls", key: firstKey, body: refund12}).into(202, &waiting)
	if waiting.Operation == nil || waiting.Operation.Approval == nil {
		r.t.Fatalf("nothing waits: %+v", waiting)
	}
	return waiting
}

func TestAnApprovalNamesItsProposalAndIsSpentOnce(t *testing.T) {
	onEveryStore(t, needsOne, func(r *rig) {
		op := proposed(r).Operation
		path := "/v1/operations/" + string(op.OperationID)
		digest := fmt.Sprintf(`{"digest":%q,"reason":"seen the order"}`, op.Approval.Digest)
		approve := request{as: "approver", method: "POST", path: path + "/approve", body: digest}

		r.do(request{as: "approver", method: "POST", path: path + "/approve", body: `{}`}).problem(400)
		r.do(request{as: "approver", method: "POST", path: path + "/approve", body: `{"digest":"sha256:00"}`}).problem(409)
		r.do(request{as: "operator", method: "POST", path: path + "/approve", body: digest}).problem(403)
		var approved api.Operation
		r.do(approve).into(200, &approved)
		if approved.Status != deed.StatusAuthorized || len(approved.Approval.Votes) != 1 || approved.Approval.Votes[0].Approver != "ada" {
			t.Errorf("approved: %+v", approved.Approval)
		}
		if p := r.do(approve).problem(409); p.OperationStatus != deed.StatusAuthorized {
			t.Errorf("a second approval is answered %+v", p)
		}
		var paid, again api.CallAnswer
		r.do(request{as: "operator", method: "POST", path: path + "/run", body: `{}`}).into(200, &paid)
		r.do(request{as: "agent", method: "POST", path: "/v1/tools/pay/refund/calls", key: firstKey, body: refund12}).into(200, &again)
		if paid.Decision != deed.Execute || again.Decision != deed.Replay || r.tools.effects.Load() != 1 {
			t.Errorf("run %s, then %s, %d effects", paid.Decision, again.Decision, r.tools.effects.Load())
		}
		var budgets api.Budgets
		r.get("reader", "/v1/budgets").into(200, &budgets)
		want := []api.Budget{{Name: "refunds", Currency: "EUR", Limit: "100.00", Held: "0.00", Spent: "12.00", Left: "88.00", Window: "24h0m0s"}}
		if diff := cmp.Diff(want, budgets.Budgets); diff != "" {
			t.Error(diff)
		}
		r.get("agent", "/v1/budgets").problem(403)
	})
}

func TestAnApprovalTellsWhatItsBudgetLacks(t *testing.T) {
	why := deed.BudgetRefusal{Budget: "refunds", Share: "actor:agent", Currency: "EUR", Amount: 12_000_000, Left: -1_000_000, Held: 5_000_000}
	for name, c := range map[string]struct {
		short bool
		err   error
		want  *api.Shortage
	}{
		"no room":                  {true, nil, &api.Shortage{Budget: "refunds", Share: "actor:agent", Currency: "EUR", Amount: "12.00", Left: "0.00", Held: "5.00"}},
		"room":                     {false, nil, nil},
		"a budget nobody can read": {true, deed.ErrUnavailable, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, needsOne)
			op := proposed(r).Operation
			r.server.Short = func(_ context.Context, who deed.Principal, of *deed.Operation) (deed.BudgetRefusal, bool, error) {
				if who.Actor != "ada" || of.ID != op.OperationID {
					t.Errorf("asked for %s of %s", of.ID, who.Actor)
				}
				return why, c.short, c.err
			}
			var approved api.Operation
			r.do(request{
				as: "approver", method: "POST", path: "/v1/operations/" + string(op.OperationID) + "/approve",
				body: fmt.Sprintf(`{"digest":%q}`, op.Approval.Digest),
			}).into(200, &approved)
			if diff := cmp.Diff(c.want, approved.Short); diff != "" || approved.Status != deed.StatusAuthorized {
				t.Errorf("%s %s", approved.Status, diff)
			}
		})
	}
}

func TestADenialReachesTheCaller(t *testing.T) {
	onEveryStore(t, needsOne, func(r *rig) {
		op := proposed(r).Operation
		var denied api.Operation
		r.do(request{as: "approver", method: "POST", path: "/v1/operations/" + string(op.OperationID) + "/deny",
			body: fmt.Sprintf(`{"digest":%q,"reason":"the order was never paid"}`, op.Approval.Digest)}).into(200, &denied)
		if denied.Status != deed.StatusDenied || denied.DecidedBy != "ada" {
			t.Errorf("denied: %+v", denied)
		}
		p := r.do(request{as: "agent", method: "POST", path: "/v1/tools/pay/refund/calls", key: firstKey, body: refund12}).problem(403)
		if p.Reason != deed.ReasonByPerson || r.tools.effects.Load() != 0 {
			t.Errorf("the caller is told %+v", p)
		}
	})
}

func TestAnEditedProposalTakesThePlaceOfTheFirst(t *testing.T) {
	onEveryStore(t, needsOne, func(r *rig) {
		op := proposed(r).Operation
		var edited api.Operation
		r.do(request{as: "approver", method: "POST", path: "/v1/operations/" + string(op.OperationID) + "/approve",
			body: fmt.Sprintf(`{"digest":%q,"arguments":{"order_id":"1042","amount":10}}`, op.Approval.Digest)}).into(200, &edited)
		if edited.Status != deed.StatusAuthorized || edited.OperationID == op.OperationID || edited.Supersedes != op.OperationID {
			t.Errorf("edited: %+v", edited)
		}
	})
}

func TestALookUpSaysWhatItCameTo(t *testing.T) {
	onEveryStore(t, nil, func(r *rig) {
		granted := r.claim("agent", "")
		r.settle(granted.OperationID, `{"attempt":1,"outcome":"unknown"}`).into(200, &api.Operation{})
		path := "/v1/operations/" + string(granted.OperationID) + "/reconcile"
		r.do(request{as: "agent", method: "POST", path: path, body: `{}`}).problem(403)
		var finding api.Finding
		r.do(request{as: "operator", method: "POST", path: path, body: `{}`}).into(200, &finding)
		if finding.Verdict != "undetermined" || finding.Evidence != "the list does not answer" || finding.Operation.Status != deed.StatusUncertain {
			t.Errorf("found %+v", finding)
		}
	})
}
