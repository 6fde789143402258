// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"net/http"
	"slices"

	"github.com/deed-run/deed"
)

// neverCompared are members of the arguments that are sent and say nothing of
// the effect that others do not say: the spelling of path and query, and the
// bytes of a body that has a digest or a form.
var neverCompared = []string{"/target", "/raw"}

// maxArguments bounds the arguments of a route in bytes, which hold its body.
const maxArguments = 4 << 20

// Policy puts what the routes say over a policy that knows the defaults and the
// tools. Give it to deed.New and to [Options].
func (rs *Routes) Policy(base deed.Policy) deed.Policy { return routePolicy{rs, base} }

type routePolicy struct {
	routes *Routes
	base   deed.Policy
}

// Rule returns the rule of a tool.
func (p routePolicy) Rule(tool deed.Tool, facts deed.ToolFacts) deed.Rule {
	rule := p.base.Rule(tool, facts)
	r := p.routes.byTool[tool]
	if r == nil {
		return rule
	}
	if r.Twins > 0 {
		rule.TwinsWithin = r.Twins
	}
	if r.Key.Need != "" || len(r.Key.From) > 0 {
		rule.Key = r.Key
	} else if r.As == "" && r.segments != nil {
		rule.Key = deed.KeyRule{Need: r.speaks.need}
	}
	if r.As == "" {
		r.effect(&rule)
	}
	if r.Rule != nil {
		r.Rule(&rule)
	}
	return rule
}

// effect says what the effect of a request is. A base that guesses by name has
// nothing to guess from here.
func (r *Route) effect(rule *deed.Rule) {
	rule.Matter = r.Matter
	if r.Scope != "" {
		rule.Scope = r.Scope
	} else if r.segments != nil {
		rule.Scope = r.speaks.scope()
	}
	rule.Fingerprint = r.Fingerprint
	rule.Fingerprint.Exclude = slices.Concat(r.Fingerprint.Exclude, neverCompared)
	if body := r.speaks.bodyKey; body != "" {
		rule.Fingerprint.Exclude = append(rule.Fingerprint.Exclude, "/body/"+body)
	}
	if rule.Fingerprint.MaxBytes == 0 {
		rule.Fingerprint.MaxBytes = maxArguments
	}
	switch {
	case r.Effect != "":
		rule.Effect, rule.Why = r.Effect, "the route says so"
	case r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions:
		rule.Effect, rule.Why = deed.EffectReadOnly, r.Method+" changes nothing (RFC 9110)"
	case rule.Effect != deed.EffectIdempotent:
		rule.Effect, rule.Why = deed.EffectNonIdempotent, r.Method+" changes things"
	}
}
