// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package dotx_test

import (
	"context"
	"errors"
	"testing"

	"github.com/deed-run/deed"
)

// The note of a call that is only observed outlives its transaction, and says
// whether that was committed.
func TestAProposalKnowsWhetherAnObservedTransactionWasCommitted(t *testing.T) {
	ada := deed.Principal{Tenant: "acme", Actor: "ada", Rights: []deed.Right{deed.RightRead, deed.RightApprove}}
	approving := rule()
	approving.Approval = &deed.ApprovalRule{}
	looking := approving
	looking.Mode = deed.ModeObserve
	for name, fails := range map[string]error{"committed": nil, "rolled back": errors.New("no funds")} {
		t.Run(name, func(t *testing.T) {
			database := newDatabase(t)
			b := newBank(t, database, approving)
			answer, err := b.transfer(t.Context(), "watched", 4, nil)
			want(t, answer, err, deed.AwaitingApproval, "")
			_, err = newBank(t, database, looking).transfer(t.Context(), "watched", 4, func() error { return fails })
			if !errors.Is(err, fails) {
				t.Fatal(err)
			}
			op := answer.Operation
			_, err = b.runtime.Approve(context.Background(), ada, op.ID, deed.Consent{Digest: op.Approval.Digest})
			var no *deed.ConsentError
			if held := errors.As(err, &no) && no.Problem == deed.ConsentObserved; held != (fails == nil) {
				t.Errorf("approving is answered with %v", err)
			}
			done := transfers(t, database, "watched")
			if answer, err = b.transfer(t.Context(), "watched", 4, nil); err != nil {
				t.Fatal(err)
			}
			if n := transfers(t, database, "watched"); n != 1 {
				t.Errorf("%d transfers, %d before, %s", n, done, answer.Decision)
			}
		})
	}
}
