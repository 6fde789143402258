// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	"github.com/deed-run/deed"
)

// Policy returns the rules of the configuration. It is safe for concurrent
// use.
func (c *Config) Policy() deed.Policy {
	p := &rules{config: c, ready: map[deed.Tool]ready{}}
	for tool, entry := range c.Tools {
		p.ready[tool] = prepare(tool, entry)
	}
	for _, route := range c.Routes {
		if route.As == "" {
			p.ready[route.Name()] = prepare(route.Name(), route.Entry)
		}
	}
	return p
}

// rules is a Config as the deed.Policy that it means.
type rules struct {
	config *Config
	ready  map[deed.Tool]ready
}

// ready holds the functions of one tool's rule, made once.
type ready struct {
	deny     func([]byte, deed.Principal) string
	approval *deed.ApprovalRule
	spend    *deed.SpendRule
	planting *deed.Planting
	key      *deed.ProviderKeyRule
	// conditions are the sources that stand for the functions.
	conditions []string
}

func prepare(tool deed.Tool, entry Tool) ready {
	r := ready{deny: denying(tool, entry.Deny), approval: entry.Approval.rule(tool), spend: entry.Spend.rule(), planting: entry.planting(), key: entry.ProviderKey.rule()}
	for _, deny := range entry.Deny {
		r.conditions = append(r.conditions, "deny: "+deny.When.Source())
	}
	if entry.Approval != nil {
		r.conditions = append(r.conditions, entry.Approval.source())
	}
	if entry.Spend != nil {
		r.conditions = append(r.conditions, entry.Spend.source())
	}
	return r
}

// entry returns what holds for a tool, written or not.
func (c *Config) entry(tool deed.Tool) (entry Tool, configured bool) {
	if entry, configured = c.Tools[tool]; configured {
		return entry, true
	}
	if route, ok := c.route(tool); ok {
		entry = route.Entry
		entry.Key = route.Key
		if entry.Key.Need == "" {
			entry.Key = c.Defaults.Key
		}
		return entry, true
	}
	return Tool{Terms: c.termsOf(tool.Upstream()), Identity: deed.FamilyOperation, Scope: deed.ScopeTenant}, false
}

// route finds the route that is a tool of its own under this name.
func (c *Config) route(tool deed.Tool) (Route, bool) {
	if i, ok := c.named[tool]; ok {
		return c.Routes[i], true
	}
	return Route{}, false
}

// unknownDenied stands among the conditions of a tool that is refused because
// nothing is known of it.
const unknownDenied = "deny: unknown_tool"

// Rule resolves everything that is configured for a tool.
func (p *rules) Rule(tool deed.Tool, facts deed.ToolFacts) deed.Rule {
	entry, configured := p.config.entry(tool)
	class := classify(tool, entry, configured, p.config.lookers[tool], p.config.Defaults, facts)
	if _, own := p.config.Programs[tool.Upstream()]; own && !configured {
		class = unnamedOfProgram
	}
	rule := deed.DefaultRule(tool)
	rule.Effect, rule.Why = class.effect, class.why
	rule.Mode, rule.Key, rule.Identity, rule.Scope = entry.Mode, entry.Key, entry.Identity, entry.Scope
	rule.Matter, rule.Fingerprint = entry.Matter, entry.Fingerprint
	rule.Account = p.config.account(tool)
	ready := p.ready[tool]
	rule.Deny, rule.Approval, rule.Spend = ready.deny, ready.approval, ready.spend
	rule.Planting, rule.ProviderKey, rule.MaxProcessing = ready.planting, ready.key, entry.MaxProcessing
	if probe := entry.Reconcile; probe != nil {
		rule.ReadLag, rule.GiveUp, rule.ReconcileInline = probe.Lag, probe.GiveUp, probe.Inline
	}
	rule.Conditions = slices.Clone(ready.conditions)
	if entry.Approval != nil {
		rule.ApprovalExpires = entry.Approval.Expires
	}
	if class.refused {
		rule.Deny = func([]byte, deed.Principal) string {
			return "nothing is known of " + string(tool) + ": " + class.why
		}
		rule.Conditions = []string{unknownDenied}
	}
	if route, ok := p.config.route(tool); ok {
		rule.TwinsWithin = route.Twins
	}
	rule.TwinsExecuting, rule.AfterConflict = entry.TwinsExecuting, entry.AfterConflict
	rule.Lease, rule.Wait, rule.AnswerWithin = entry.Lease, entry.Wait, entry.AnswerWithin
	rule.Timeout, rule.TimeoutHard, rule.Late = entry.Timeout, entry.TimeoutHard, entry.Late
	rule.MaxAge, rule.ModelWindow, rule.InputExpires = entry.MaxAge, entry.ModelWindow, entry.InputExpires
	rule.Retention, rule.Rate, rule.Repeat = entry.Retention, entry.Rate, entry.Repeat
	rule.Revision = p.config.Revision
	return rule
}
