// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
)

// risk says how much care a decision takes.
func (c *Core) risk(op *deed.Operation) (console.Risk, string) {
	facts := c.gate.Facts(op.Tool)
	settings := c.Config.ToolSettings(op.Tool)
	k := known{
		op: op, facts: facts, said: settings.Risk,
		findable: settings.Resource != nil || lookups{c}.strategy(op.Tool) != nil,
	}
	if spend := c.Policy.Rule(op.Tool, facts).Spend; spend != nil {
		k.budget = spend.Budget.Name
	}
	return k.risk()
}

// known is what is known of a call that waits for a person.
type known struct {
	op    *deed.Operation
	facts deed.ToolFacts
	// said is what the configuration says, budget the one that the call spends of.
	said, budget string
	// findable: what became of the call can be looked up.
	findable bool
}

// risk is what the configuration says, and otherwise the first thing known that
// asks for care. What a server says of its tool can only raise it.
func (k known) risk() (console.Risk, string) {
	switch op, hint := k.op, k.facts.DestructiveHint; {
	case k.said != "":
		return console.Risk(k.said), "the configuration says so"
	case k.budget != "":
		return console.RiskHigh, "it spends money of the budget " + k.budget
	case op.Approval != nil && op.Approval.Quorum > 1:
		return console.RiskHigh, fmt.Sprintf("%d people must agree to it", op.Approval.Quorum)
	case hint != nil && *hint:
		return console.RiskHigh, "its server says that it destroys or overwrites something"
	case op.Definition != "" && k.facts.Definition != "" && op.Definition != k.facts.Definition:
		return console.RiskHigh, "its server describes the tool otherwise than when it was proposed"
	case op.Effect == deed.EffectIdempotent:
		return console.RiskLow, "declared idempotent: doing it again reaches the same end state"
	case k.findable:
		return console.RiskMedium, "it changes something at the provider, and every run changes it again"
	}
	return console.RiskMedium, "every run changes something again, and no look-up finds out afterwards whether it happened"
}
