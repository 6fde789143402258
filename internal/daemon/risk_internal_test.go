// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
)

func TestRiskIsTheFirstThingThatAsksForCare(t *testing.T) {
	yes, no := true, false
	tame := deed.Operation{Effect: deed.EffectIdempotent, Definition: "sha256:a", Approval: &deed.Approval{}}
	wild := tame
	wild.Effect = deed.EffectNonIdempotent
	two := tame
	two.Approval = &deed.Approval{Quorum: 2}
	for name, test := range map[string]struct {
		known
		want console.Risk
		say  string
	}{
		"idempotent":                      {known{op: &tame, facts: deed.ToolFacts{DestructiveHint: &no}}, console.RiskLow, "declared idempotent"},
		"not idempotent and not findable": {known{op: &wild}, console.RiskMedium, "no look-up finds out"},
		"not idempotent and findable":     {known{op: &wild, findable: true}, console.RiskMedium, "every run changes it again"},
		"called destructive":              {known{op: &tame, facts: deed.ToolFacts{DestructiveHint: &yes}}, console.RiskHigh, "destroys or overwrites"},
		"described otherwise by now":      {known{op: &tame, facts: deed.ToolFacts{Definition: "sha256:b"}}, console.RiskHigh, "describes the tool otherwise"},
		"described as before":             {known{op: &tame, facts: deed.ToolFacts{Definition: "sha256:a"}}, console.RiskLow, ""},
		"two must agree":                  {known{op: &two}, console.RiskHigh, "2 people must agree"},
		"it costs something":              {known{op: &tame, budget: "refunds"}, console.RiskHigh, "of the budget refunds"},
		"raised by the configuration":     {known{op: &tame, said: "high"}, console.RiskHigh, "the configuration says so"},
		"lowered by the configuration":    {known{op: &two, said: "low", budget: "refunds"}, console.RiskLow, "the configuration says so"},
	} {
		t.Run(name, func(t *testing.T) {
			if risk, because := test.risk(); risk != test.want || !strings.Contains(because, test.say) {
				t.Errorf("got %s: %s", risk, because)
			}
		})
	}
}
