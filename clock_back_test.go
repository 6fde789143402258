// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// Which of two idempotent operations of a matter is the later one is told by the
// ledger's clock.
func TestAfterTheClockWasSetBackAnOlderStateIsNotSentOverANewer(t *testing.T) {
	b := newRig(t, func(r *deed.Rule) { r.Effect, r.Matter = deed.EffectIdempotent, []string{"/order_id"} })
	_, first := b.claim(b.rt, refund("12"))
	b.settle(b.rt, first, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.clock.Advance(-time.Hour)
	newer := refund("20")
	newer.Key = deed.OperationKey("refund:order-1042:second")
	answer, second := b.claim(b.rt, newer)
	if second != nil {
		b.settle(b.rt, second, success("re_2"))
		b.clock.Advance(time.Second)
		if _, again := b.claim(b.rt, refund("12")); again != nil {
			b.settle(b.rt, again, success("re_1"))
			t.Fatal("12 was sent once more after 20 had been")
		}
	} else {
		b.want(answer, deed.Uncertain, deed.ReasonTwinUnresolved, 0)
	}
	// The first alone may be repeated at any time.
	_, again := b.claim(b.rt, refund("12"))
	if again == nil {
		t.Fatal("the repeat was not sent")
	}
	b.settle(b.rt, again, success("re_1"))
	b.want(b.do(newer), deed.Execute, "", 1)
}

func TestAClockThatWasSetBackTakesNoCallsAway(t *testing.T) {
	b := newRig(t, nil)
	b.do(refund("12"))
	b.clock.Advance(-time.Hour)
	next := refund("20")
	next.Key = deed.OperationKey("refund:order-1042:second")
	b.want(b.do(next), deed.Execute, "", 2)
}
