// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// Of what is committed nobody is told to wait for a process that may still report:
// committed is final.
func TestWhoResolvesWhatIsCommittedIsNotToldToWait(t *testing.T) {
	b := newRig(t, nil)
	rt := b.process()
	answer, grant := b.claim(rt, refund("12"))
	defer rt.Release(grant)
	b.clock.Advance(31 * time.Second)
	who := deed.Principal{Tenant: "acme", Actor: "olga", Rights: []deed.Right{deed.RightResolve, deed.RightRead}}
	id := answer.Operation.ID
	if _, err := b.process().Resolve(t.Context(), who, id, deed.Resolution{Outcome: deed.ResolveCommitted, Reason: "seen there", Force: true}); err != nil {
		t.Fatal(err)
	}
	_, err := b.process().Resolve(t.Context(), who, id, deed.Resolution{Outcome: deed.ResolveNotApplied, Reason: "a slip"})
	var refused *deed.RefusedError
	if !errors.As(err, &refused) || strings.Contains(err.Error(), "wait until") || !strings.Contains(err.Error(), "committed") {
		t.Errorf("it says %v", err)
	}
}
