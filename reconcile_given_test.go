// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"testing"

	"github.com/deed-run/deed"
)

func TestALookUpThatCameTooLateKeepsNobodyWaiting(t *testing.T) {
	d := newInDoubt(t, nil)
	d.answer = nothing
	d.during = func() {
		if _, err := d.rt.Cancel(context.Background(), operator, d.id, "no more of it"); err != nil {
			t.Error(err)
		}
	}
	if finding := d.look(); !finding.Stale {
		t.Errorf("it counted as %s", finding.Counted)
	}
	d.wantStatus(deed.StatusUncertain, deed.ReasonOutcomeUnknown)
	if finding := d.look(); finding.Stale {
		t.Error("the second came too late as well")
	}
}
