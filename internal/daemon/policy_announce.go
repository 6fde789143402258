// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"sync"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

// announcing tells once of each tool that it passes as a read only because of
// its name: whoever starts a gateway should see what was guessed.
type announcing struct {
	deed.Policy
	log  func(string)
	told sync.Map
}

// Rule returns the inner rule.
func (p *announcing) Rule(tool deed.Tool, facts deed.ToolFacts) deed.Rule {
	rule := p.Policy.Rule(tool, facts)
	if !policy.GuessedRead(rule) {
		return rule
	}
	if _, known := p.told.LoadOrStore(tool, true); !known {
		p.log(string(tool) + " is taken for a read, because " + rule.Why)
	}
	return rule
}
