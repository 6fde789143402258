// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// Scenario A10: a reply whose delivery nobody confirmed is settled by a person.
func TestAPersonSettlesWhatNobodyCouldLookUp(t *testing.T) {
	happened := newInDoubt(t, func(r *deed.Rule) { r.GiveUp = 0 })
	happened.resolve(deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"m1"}})
	answer := happened.do(refund("12"))
	happened.want(answer, deed.Replay, deed.ReasonResultDiscarded, 0)
	if id := answer.Operation.Receipt().RemoteID; id != "m1" {
		t.Errorf("replayed %q", id)
	}

	not := newInDoubt(t, func(r *deed.Rule) { r.GiveUp = 0 })
	not.resolve(deed.Resolution{Outcome: deed.ResolveNotApplied})
	not.clock.Advance(time.Second)
	not.want(not.do(refund("12")), deed.Execute, "", 1)
	not.want(not.do(refund("12")), deed.Replay, deed.ReasonStored, 1)
}

// Scenario A12: a bare 503 after the commit is in doubt until it is found; one
// that the tool's rules call a refusal is not.
func TestABareErrorStatusIsInDoubtUntilItIsFound(t *testing.T) {
	d := newInDoubt(t, func(r *deed.Rule) { r.ReconcileInline = true })
	d.answer = d.found("re_7")
	d.want(d.do(refund("12")), deed.Replay, deed.ReasonResultDiscarded, 0)

	refused := unsent(t, nil)
	_, grant := refused.claim(refused.rt, refund("12"))
	refused.settle(refused.rt, grant, deed.Outcome{Kind: deed.OutcomeRefused, RetryAfter: time.Second, Message: "503 with Retry-After"})
	refused.want(refused.do(refund("12")), deed.Failed, deed.ReasonRetryLater, 0)
	refused.clock.Advance(time.Second)
	refused.want(refused.do(refund("12")), deed.Execute, "", 1)
}
