// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import "github.com/deed-run/deed"

// Risk says how much care a decision takes.
type Risk string

const (
	// RiskLow may be approved several at once, where they are of one tool.
	RiskLow Risk = "low"
	// RiskMedium is approved one by one.
	RiskMedium Risk = "medium"
	// RiskHigh asks the approver to type the tool's name.
	RiskHigh Risk = "high"
)

// risk is what Options.Risk says, and high where the arguments, which listings do not
// load, hold what is not seen as it is.
func (c *Console) risk(op *deed.Operation) (Risk, string) {
	risk, because := c.Risk(op)
	if risk != RiskHigh && len(op.Arguments) > 0 && payloadOf(op.Arguments).Hidden > 0 {
		return RiskHigh, "its arguments hold characters that are not seen"
	}
	return risk, because
}

// riskOf is the default: what the operation's effect class says.
func riskOf(op *deed.Operation) (Risk, string) {
	if op.Effect == deed.EffectIdempotent {
		return RiskLow, "declared idempotent: doing it again reaches the same end state"
	}
	return RiskMedium, "it changes something at the provider, and every run changes it again"
}
