// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"strings"
	"sync"

	"github.com/deed-run/deed"
)

// announcing tells once of each tool that it passes as a read only because of
// its name: whoever starts a gateway should see what was guessed.
type announcing struct {
	deed.Policy
	log  func(string)
	told sync.Map
}

// guessed is how package policy words a class that rests on a name.
const guessed = "(unknown_tool: infer)"

// Rule returns the inner rule.
func (p *announcing) Rule(tool deed.Tool, facts deed.ToolFacts) deed.Rule {
	rule := p.Policy.Rule(tool, facts)
	if rule.Effect != deed.EffectReadOnly || !strings.HasSuffix(rule.Why, guessed) {
		return rule
	}
	if _, known := p.told.LoadOrStore(tool, true); !known {
		p.log(string(tool) + " is taken for a read, because " + rule.Why)
	}
	return rule
}
