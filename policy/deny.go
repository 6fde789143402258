// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"github.com/deed-run/deed"
)

// DenyRule refuses the calls for which its condition holds, or cannot be
// evaluated.
type DenyRule struct {
	When   *Condition
	Reason string
}

func denyKeys() []key[DenyRule] {
	return []key[DenyRule]{
		{name: "when", read: func(d *decoder, at place, into *DenyRule) { d.condition(at, &into.When) }},
		{name: "reason", initial: "the policy refuses it", read: func(d *decoder, at place, into *DenyRule) {
			if text, ok := d.text(at); ok {
				into.Reason = text
			}
		}},
	}
}

// denyRules reads one rule or a list of them.
func (d *decoder) denyRules(at place) []DenyRule {
	places := []place{at}
	if _, list := at.node.(*ast.SequenceNode); list {
		places = d.items(at, "rules")
	}
	var rules []DenyRule
	for _, item := range places {
		before := len(d.found)
		rule := DenyRule{Reason: "the policy refuses it"}
		block(d, item, denyKeys(), &rule)
		if len(d.found) == before && rule.When == nil {
			d.refuse(item, "has no condition", "write when: and a CEL expression, or when: 'true' to refuse every call")
		}
		rules = append(rules, rule)
	}
	return rules
}

func (d *decoder) condition(at place, into **Condition) {
	if _, truth := at.node.(*ast.BoolNode); truth {
		d.refuse(at, "is "+at.node.GetToken().Value+" where a text must stand", "write '"+at.node.GetToken().Value+"' in quotes")
		return
	}
	text, ok := d.text(at)
	if !ok {
		return
	}
	condition, err := compileCondition(text)
	if err != nil {
		d.refuse(at, "CEL: "+err.Error(), "write an expression over args, tool, tenant and actor")
		return
	}
	*into = condition
}

// denying joins the rules of a tool into the check that deed makes before a
// begin: the text of the first rule that refuses, or "".
func denying(tool deed.Tool, rules []DenyRule) func([]byte, deed.Principal) string {
	if len(rules) == 0 {
		return nil
	}
	return func(arguments []byte, principal deed.Principal) string {
		for _, rule := range rules {
			holds, err := rule.When.Holds(tool, arguments, principal)
			if err != nil {
				return fmt.Sprintf("%s (its condition could not be evaluated: %v)", rule.Reason, err)
			}
			if holds {
				return rule.Reason
			}
		}
		return ""
	}
}
