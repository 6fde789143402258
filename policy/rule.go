// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"github.com/deed-run/deed"
)

// Policy returns the rules of the configuration. It is safe for concurrent
// use.
func (c *Config) Policy() deed.Policy {
	p := &rules{config: c, deny: map[deed.Tool]func([]byte, deed.Principal) string{}}
	for tool, entry := range c.Tools {
		p.deny[tool] = denying(tool, entry.Deny)
	}
	for _, route := range c.Routes {
		if route.As == "" {
			p.deny[route.Name()] = denying(route.Name(), route.Entry.Deny)
		}
	}
	return p
}

// rules is a Config as the deed.Policy that it means.
type rules struct {
	config *Config
	deny   map[deed.Tool]func([]byte, deed.Principal) string
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
	if _, ok := c.HTTP[tool.Upstream()]; !ok {
		return Route{}, false
	}
	for _, route := range c.Routes {
		if route.As == "" && route.Name() == tool {
			return route, true
		}
	}
	return Route{}, false
}

// unknownDenied stands among the conditions of a tool that is refused because
// nothing is known of it.
const unknownDenied = "deny: unknown_tool"

// Rule resolves everything that is configured for a tool.
func (p *rules) Rule(tool deed.Tool, facts deed.ToolFacts) deed.Rule {
	entry, configured := p.config.entry(tool)
	class := classify(tool, entry, configured, p.config.Defaults, facts)
	rule := deed.DefaultRule(tool)
	rule.Effect, rule.Why = class.effect, class.why
	rule.Mode, rule.Key, rule.Identity, rule.Scope = entry.Mode, entry.Key, entry.Identity, entry.Scope
	rule.Matter, rule.Fingerprint = entry.Matter, entry.Fingerprint
	rule.Account = p.config.account(tool)
	rule.Deny = p.deny[tool]
	for _, deny := range entry.Deny {
		rule.Conditions = append(rule.Conditions, "deny: "+deny.When.Source())
	}
	if class.refused {
		rule.Deny = func([]byte, deed.Principal) string {
			return "nothing is known of " + string(tool) + ", and unknown_tool is deny"
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
