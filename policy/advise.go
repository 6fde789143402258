// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/deed-run/deed"
)

// ListedTool is a tool as its upstream lists it.
type ListedTool struct {
	Tool  deed.Tool
	Facts deed.ToolFacts
	// Arguments are the names of the top-level arguments in its schema.
	Arguments []string
	// Schema is that of its arguments, as its upstream lists it.
	Schema json.RawMessage
	// Made: deed makes the tool itself, of a description that says what its
	// answers prove and how its effects are marked; Looks: its maker looks them up.
	Made  bool
	Looks bool
	// Own: a program runs the tool and reads its answers itself.
	Own bool
}

// Guarantee is what deed can promise of a tool.
type Guarantee string

// The tiers of docs/guarantees.md.
const (
	// GuaranteeRead: nothing is changed, nothing is recorded.
	GuaranteeRead Guarantee = "read: passes, may repeat"
	// GuaranteeOneEndState: an idempotent tool may be sent again.
	GuaranteeOneEndState Guarantee = "one end state: may be sent again, not one request"
	// GuaranteeHonoursKey: the provider recognises its own key.
	GuaranteeHonoursKey Guarantee = "honours a key"
	// GuaranteeProbed: the outside world can be asked.
	GuaranteeProbed Guarantee = "can be probed"
	// GuaranteeNeither: at most once, doubts go to a person.
	GuaranteeNeither Guarantee = "neither: at most once, doubts go to a person"
	// GuaranteeObserved: mode observe, in which nothing holds.
	GuaranteeObserved Guarantee = "none: mode observe only records"
	// GuaranteeRefused: the policy refuses every call.
	GuaranteeRefused Guarantee = "none needed: every call is refused"
)

// Advice says where a tool stands and what would make it better.
type Advice struct {
	Tool      deed.Tool        `json:"tool"`
	Effect    deed.EffectClass `json:"effect"`
	Why       string           `json:"why"`
	Key       string           `json:"key"`
	Guarantee Guarantee        `json:"guarantee"`
	Better    []string         `json:"better,omitempty"`
}

// Advise judges listed tools under a configuration, in the order of their
// names. Entries of the configuration that no upstream lists come last: they
// guard nothing, and are most likely misspelt.
func Advise(config *Config, tools []ListedTool) []Advice {
	policy := config.Policy()
	listed := map[deed.Tool]bool{}
	var advice []Advice
	for _, tool := range tools {
		listed[tool.Tool] = true
		advice = append(advice, advise(config, policy, tool))
	}
	byName := func(a, b Advice) int { return strings.Compare(string(a.Tool), string(b.Tool)) }
	slices.SortFunc(advice, byName)
	var names []string
	for _, tool := range tools {
		names = append(names, string(tool.Tool))
	}
	var unlisted []Advice
	for tool := range config.Tools {
		if listed[tool] {
			continue
		}
		rule := policy.Rule(tool, deed.ToolFacts{})
		if _, listsNothing := config.Programs[tool.Upstream()]; listsNothing {
			unlisted = append(unlisted, advise(config, policy, ListedTool{Tool: tool, Own: true}))
			continue
		}
		unlisted = append(unlisted, Advice{
			Tool: tool, Effect: rule.Effect, Why: rule.Why, Key: keyWord(rule), Guarantee: guarantee(rule), Better: []string{"no upstream lists it: " + RemedyOfUnlisted(tool, names)},
		})
	}
	slices.SortFunc(unlisted, byName)
	return append(advice, unlisted...)
}

// RemedyOfUnlisted says what to do with an entry under tools: that names a tool
// which is not among those that are listed, most likely because it is misspelt.
func RemedyOfUnlisted(tool deed.Tool, listed []string) string {
	if near := nearest(string(tool), listed); near != "" {
		return "write " + near + " instead, or remove the entry"
	}
	return "correct the name, or remove the entry"
}

func advise(config *Config, policy deed.Policy, tool ListedTool) Advice {
	rule := policy.Rule(tool.Tool, tool.Facts)
	entry, _ := config.entry(tool.Tool)
	a := Advice{Tool: tool.Tool, Effect: rule.Effect, Why: rule.Why, Key: keyWord(rule), Guarantee: guarantee(rule)}
	if refusesAll(rule) {
		a.Guarantee = GuaranteeRefused
	}
	if a.Guarantee == GuaranteeNeither && tool.Looks && entry.plants() {
		a.Guarantee = GuaranteeProbed
	}
	switch {
	case tool.Made && rule.Mutates():
		a.Better = append(betterDerivation(tool, rule), betterMade(tool, entry, a.Guarantee, rule)...)
	case tool.Made:
	default:
		a.Better = append(a.Better, betterClass(entry, tool, rule)...)
		if rule.Mutates() {
			a.Better = append(a.Better, betterKey(tool, rule)...)
			a.Better = append(a.Better, betterOutcome(tool, entry)...)
			a.Better = append(a.Better, betterFinding(entry, rule)...)
		}
	}
	if rule.Mode == deed.ModeObserve {
		a.Better = append(a.Better, "mode: enforce, once the recorded decisions are what you want")
	}
	return a
}

func refusesAll(rule deed.Rule) bool {
	return slices.Equal(rule.Conditions, []string{unknownDenied})
}

func keyWord(rule deed.Rule) string {
	switch {
	case !rule.Mutates():
		return "none"
	case len(rule.Key.From) > 0:
		return "derived from " + strings.Join(rule.Key.From, ", ")
	}
	return string(rule.Key.Need)
}

func guarantee(rule deed.Rule) Guarantee {
	switch {
	case !rule.Mutates():
		return GuaranteeRead
	case rule.Mode == deed.ModeObserve:
		return GuaranteeObserved
	case rule.Effect == deed.EffectIdempotent:
		return GuaranteeOneEndState
	case rule.ProviderKey != nil:
		return GuaranteeHonoursKey
	case rule.GiveUp > 0:
		return GuaranteeProbed
	}
	return GuaranteeNeither
}

func betterClass(entry Tool, tool ListedTool, rule deed.Rule) []string {
	var better []string
	if entry.Effect == deed.EffectReadOnly {
		if isTrue(tool.Facts.DestructiveHint) {
			better = append(better, "it carries destructiveHint: declare another effect unless you know that it only reads")
		} else if word, found := contradicts(tool.Tool); found {
			better = append(better, "its name says "+word+": declare another effect unless you know that it only reads")
		}
	}
	if entry.Effect != "" {
		return better
	}
	if isTrue(tool.Facts.IdempotentHint) && rule.Mutates() {
		better = append(better, "idempotentHint is set: declare effect: idempotent if sending it twice really ends in the same state")
	}
	if _, reads := readVerb(tool.Tool); rule.Mutates() && (reads || isTrue(tool.Facts.ReadOnlyHint)) {
		better = append(better, "declare effect: read_only if it only reads: then it needs no key and is not recorded")
	}
	if len(better) == 0 {
		better = append(better, "declare effect: "+string(rule.Effect)+", so that the class rests on you and not on a hint, a name or a default")
	}
	return better
}

func betterKey(tool ListedTool, rule deed.Rule) []string {
	switch {
	case len(rule.Key.From) > 0:
		return betterDerivation(tool, rule)
	case rule.Key.Need == deed.NeedRuntime:
		return nil
	case rule.Key.Need == deed.NeedOptional:
		return []string{"key: required, or key: {from: [...]}: a call without a key cannot be repeated, only guarded against equal ones"}
	}
	if i := slices.IndexFunc(tool.Arguments, namesThing); i >= 0 {
		return []string{"name key parts, such as key: {from: [tenant, tool, meta.run, " + pointerTo(tool.Arguments[i]) + "]}: a model that asks again then means the same operation"}
	}
	return nil
}

// betterDerivation finds parts that the tool's schema does not have: every
// call would be refused.
func betterDerivation(tool ListedTool, rule deed.Rule) []string {
	var better []string
	for _, part := range rule.Key.From {
		name, _, _ := strings.Cut(strings.TrimPrefix(part, "/"), "/")
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if !strings.HasPrefix(part, "/") || tool.Arguments == nil || slices.Contains(tool.Arguments, name) {
			continue
		}
		remedy := "its schema has no argument " + name + ", of which the key is derived: every call without it is refused"
		if near := nearest(name, tool.Arguments); near != "" {
			remedy += "; did you mean /" + near + "?"
		}
		better = append(better, remedy)
	}
	return better
}

func betterOutcome(tool ListedTool, entry Tool) []string {
	if tool.Own {
		return betterMatter(tool, entry)
	}
	var better []string
	if entry.Receipt.ID == "" {
		better = append(better, "name receipt: {id: ...}, the pointer to the id in its result, so that the receipt says what was made")
	}
	if len(entry.Failed) == 0 && entry.IsError == IsErrorUncertain {
		better = append(better, "write failed: rules for error texts that prove that nothing happened: other errors go to a person")
	}
	return append(better, betterMatter(tool, entry)...)
}

// betterMade is for tools that deed makes: what their descriptions say is not
// asked for again.
func betterMade(tool ListedTool, entry Tool, stands Guarantee, rule deed.Rule) []string {
	better := betterMatter(tool, entry)
	switch {
	case rule.Effect == deed.EffectIdempotent:
	case stands == GuaranteeNeither:
		better = append(better, "write lookups in its connector's description, and what they look for: until then a lost answer goes to a person")
	case stands == GuaranteeProbed && rule.MaxProcessing == 0:
		better = append(better, "declare max_processing: without it, not finding an effect proves nothing")
	}
	return better
}
