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
