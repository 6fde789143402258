// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

func TestARefusalSaysWhenItsWindowEnds(t *testing.T) {
	for calendar, want := range map[string]time.Time{
		"day": noon.AddDate(0, 0, 1), "week": noon.AddDate(0, 0, 7), "month": noon.AddDate(0, 1, 0), "": {},
	} {
		budget := deed.Budget{Calendar: calendar, Window: time.Hour}
		if got := budget.Until(noon); !got.After(noon) && calendar != "" || got.After(want) || got.IsZero() != want.IsZero() {
			t.Errorf("%q ends at %s, want no later than %s", calendar, got, want)
		}
		if got := budget.Until(noon); calendar != "" && (budget.Counts(noon, got) || !budget.Counts(noon, got.Add(-1))) {
			t.Errorf("%q: what was spent now does not stop counting at %s", calendar, got)
		}
	}
	b := newRig(t, spending(func(s *deed.SpendRule) { s.Budget.Calendar = "day" }))
	b.do(order(1, "90"))
	ends := b.rule.Spend.Budget.Until(b.clock.Now())
	answer := b.do(order(2, "12.50"))
	b.want(answer, deed.Denied, deed.ReasonBudgetExceeded, 1)
	if want := "; what was spent counts until " + ends.Format(time.RFC3339); !strings.HasSuffix(answer.Text, want) {
		t.Errorf("it says %q, want %q at its end", answer.Text, want)
	}
	b.clock.Advance(ends.Sub(b.clock.Now()))
	b.want(b.do(order(2, "12.50")), deed.Execute, "", 2)
}
