// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

// wiredAgain asks for the wire of the seed under another key, in some tenant.
func wiredAgain(t *testing.T, s *seeded, tenant deed.Tenant) deed.OperationID {
	t.Helper()
	ledger, err := sqlite.Open(t.Context(), s.ledger, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wire := deed.DefaultRule("pay/wire")
	wire.Approval = &deed.ApprovalRule{Quorum: 2}
	rt, err := deed.New(deed.Options{Store: ledger, Policy: deed.FixedPolicy{"pay/wire": wire}})
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := rt.Claim(t.Context(), deed.Call{
		Principal: deed.Principal{Tenant: tenant, Actor: "support", Rights: []deed.Right{deed.RightCall}},
		Tool:      "pay/wire", Key: deed.OperationKey("wire:the-same:again"), Arguments: []byte(`{"about":"wire","amount":12.5}`),
	})
	if err := errors.Join(err, rt.Close(t.Context()), ledger.Close()); err != nil {
		t.Fatal(err)
	}
	return again.Operation.ID
}

func TestAProposalIsShownWithOthersAboutTheSame(t *testing.T) {
	s := seed(t)
	s.ids["again"] = wiredAgain(t, s, "default")
	holds(t, s.show("again"), "others about the same", string(s.ids["wire"]), "awaiting_approval (pending)")
	holds(t, s.show("wire", "--json"), `"alike": [`, `"operation_id": "`+string(s.ids["again"])+`"`)
}

func TestAnotherTenantsCallIsNotShownBesideAProposal(t *testing.T) {
	s := seed(t)
	theirs := wiredAgain(t, s, "elsewhere")
	if shown := s.show("wire"); strings.Contains(shown, "others about the same") || strings.Contains(shown, string(theirs)) {
		t.Errorf("another tenant's call is told of:\n%s", shown)
	}
}

func TestAnApprovedOperationTellsWhichUnresolvedOneHoldsIt(t *testing.T) {
	s := seed(t)
	ledger, err := sqlite.Open(t.Context(), s.ledger, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rule := deed.DefaultRule("pay/twin")
	rule.Approval = &deed.ApprovalRule{}
	rt, err := deed.New(deed.Options{Store: ledger, Policy: deed.FixedPolicy{"pay/twin": rule}})
	if err != nil {
		t.Fatal(err)
	}
	claim := func(key string) (deed.Answer, *deed.Grant) {
		answer, grant, err := rt.Claim(t.Context(), deed.Call{
			Principal: deed.Principal{Tenant: "default", Actor: "support", Rights: []deed.Right{deed.RightCall}},
			Tool:      "pay/twin", Key: deed.OperationKey(key), Arguments: []byte(`{"amount":12.5}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer, grant
	}
	approve := func(key string) deed.OperationID {
		proposed, _ := claim(key)
		boss := deed.Principal{Tenant: "default", Actor: "boss", Rights: []deed.Right{deed.RightApprove, deed.RightRead}}
		op, err := rt.Approve(t.Context(), boss, proposed.Operation.ID, deed.Consent{Digest: proposed.Operation.Approval.Digest})
		if err != nil {
			t.Fatal(err)
		}
		return op.ID
	}
	s.ids["first"], s.ids["second"] = approve("twin:order-1:first"), approve("twin:order-1:second")
	_, grant := claim("twin:order-1:first")
	if _, err := rt.Settle(t.Context(), grant, deed.Outcome{Kind: deed.OutcomeUnknown}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(rt.Close(t.Context()), ledger.Close()); err != nil {
		t.Fatal(err)
	}
	holds(t, s.show("second"), "it is not sent while "+string(s.ids["first"])+", which is about the same, is uncertain", "deed ops show "+string(s.ids["first"]))
}
