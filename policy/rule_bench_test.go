// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

// BenchmarkRule measures what every call pays for its rule: of a declared
// tool, and of one whose class is found anew from its hints and its name.
func BenchmarkRule(b *testing.B) {
	config, err := policy.Parse("deed.yaml", []byte(`
upstreams: {a: {command: [x]}}
defaults: {unknown_tool: infer}
tools: {a/pay: {effect: non_idempotent, deny: {when: "args.amount > 1000"}}}
`), nil)
	if err != nil {
		b.Fatal(err)
	}
	p := config.Policy()
	b.Run("declared", func(b *testing.B) {
		for b.Loop() {
			p.Rule("a/pay", deed.ToolFacts{})
		}
	})
	b.Run("inferred", func(b *testing.B) {
		for b.Loop() {
			p.Rule("a/get_customer_by_email", deed.ToolFacts{})
		}
	})
	deny := p.Rule("a/pay", deed.ToolFacts{}).Deny
	b.Run("condition", func(b *testing.B) {
		arguments := []byte(`{"amount":100,"currency":"EUR","order":{"id":"o-1","lines":[1,2,3]}}`)
		for b.Loop() {
			deny(arguments, deed.Principal{})
		}
	})
}
