// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/canon"
)

// Explanation says what the configuration makes of a call.
type Explanation struct {
	Tool   deed.Tool        `json:"tool"`
	Effect deed.EffectClass `json:"effect"`
	Why    string           `json:"why"`
	Key    KeyExplanation   `json:"key"`
	// Fingerprint and Canonical are those of the arguments without the key
	// argument.
	Fingerprint deed.Fingerprint `json:"fingerprint"`
	Canonical   string           `json:"canonical"`
	// Matter is the canonical list, null when the arguments have none.
	Matter         json.RawMessage `json:"matter"`
	PolicyRevision string          `json:"policy_revision"`
	// Approval is none, required for this call, or not needed for this call.
	Approval string `json:"approval"`
	Timeout  string `json:"timeout"`
	// What follows is absent where nothing is configured.
	ApprovalRule *ApprovalExplanation  `json:"approval_rule,omitempty"`
	Budget       *BudgetExplanation    `json:"budget,omitempty"`
	Planted      []PlantedMark         `json:"planted,omitempty"`
	Reconcile    *ReconcileExplanation `json:"reconcile,omitempty"`
}

// KeyExplanation says where the key of a call comes from.
type KeyExplanation struct {
	// Rule is required, optional, runtime or derived; none for a read.
	Rule     string        `json:"rule"`
	Identity deed.Family   `json:"identity,omitempty"`
	Scope    deed.KeyScope `json:"scope,omitempty"`
	// Parts are those of a derived key, in their order.
	Parts []KeyPart `json:"parts,omitempty"`
}

// KeyPart is one part of a derived key. Value is null where only the call
// itself knows it: what its _meta says.
type KeyPart struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// Refusal says that a call would be refused before anything is sent.
type Refusal struct {
	Tool   deed.Tool
	Reason deed.Reason
	Text   string
}

// Error names the tool, the reason and what to change.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s would be refused (%s): %s; nothing would be sent", r.Tool, r.Reason, r.Text)
}

// Explain says what the configuration makes of a call with these raw
// arguments, by the local principal and without connecting anywhere: hints of
// the upstream are therefore not known, and neither is what the call's _meta
// says. When the arguments would be refused the error is a [*Refusal] and the
// explanation holds what was found until then.
func Explain(config *Config, tool deed.Tool, arguments []byte) (Explanation, error) {
	rule := config.Policy().Rule(tool, deed.ToolFacts{})
	e := Explanation{
		Tool: tool, Effect: rule.Effect, Why: rule.Why, Key: explainKey(rule), PolicyRevision: rule.Revision,
		Approval: approvalNone, Timeout: short(rule.Timeout), Matter: json.RawMessage("null"),
	}
	if owners := config.owners(); len(owners) > 0 && !slices.Contains(owners, tool.Upstream()) {
		return e, fmt.Errorf("tool %s: upstream %q is not declared in %s; nothing was explained: write UPSTREAM/TOOL", tool, tool.Upstream(), config.File)
	}
	refuse := func(reason deed.Reason, text string) (Explanation, error) {
		return e, &Refusal{Tool: tool, Reason: reason, Text: text}
	}
	effect, err := withoutKey(arguments, config.ToolSettings(tool).OwnKeyArgument)
	if err != nil {
		return refuse(deed.ReasonBadArguments, plain(err))
	}
	if route, isRoute := config.route(tool); isRoute {
		if effect, err = withMethod(effect, route.Method); err != nil {
			return refuse(deed.ReasonBadArguments, plain(err))
		}
		// How a request was spelt is sent and never compared.
		rule.Fingerprint.Exclude = slices.Concat(rule.Fingerprint.Exclude, []string{"/target", "/raw"})
	}
	program, err := canon.CompileWith(canon.Rules(rule.Fingerprint), canonOptions())
	if err != nil {
		return e, fmt.Errorf("explaining %s: %w", tool, err)
	}
	canonical, err := program.Canonical(string(tool), effect)
	if err != nil {
		return refuse(deed.ReasonBadArguments, plain(err))
	}
	fingerprint, err := program.Fingerprint(string(tool), effect)
	if err != nil {
		return refuse(deed.ReasonBadArguments, plain(err))
	}
	e.Canonical, e.Fingerprint = string(canonical), deed.Fingerprint(fingerprint)
	if matter := matterOf(program, rule.Matter, effect); matter != nil && rule.Mutates() {
		e.Matter = matter
	}
	principal := deed.Principal{Tenant: config.Tenant, Actor: config.Actor}
	if rule.Mutates() {
		missing, err := e.fillParts(program, rule, principal, effect)
		if err != nil {
			return refuse(deed.ReasonBadArguments, plain(err))
		}
		if missing != "" {
			return refuse(deed.ReasonMissingOperationKey, "the key is derived from "+missing+", which the arguments do not carry")
		}
	}
	entry, _ := config.entry(tool)
	e.consent(entry, rule, effect, principal)
	if err := e.finding(entry, rule, effect); err != nil {
		return refuse(deed.ReasonBadArguments, "no mark can be planted: "+err.Error())
	}
	if err := e.money(rule, effect); err != nil {
		return refuse(deed.ReasonBadArguments, err.Error())
	}
	if rule.Deny != nil {
		if text := rule.Deny(effect, principal); text != "" {
			return refuse(deed.ReasonForbidden, text)
		}
	}
	return e, nil
}

func explainKey(rule deed.Rule) KeyExplanation {
	switch {
	case !rule.Mutates():
		return KeyExplanation{Rule: "none"}
	case len(rule.Key.From) > 0:
		return KeyExplanation{Rule: "derived", Identity: rule.Identity, Scope: rule.Scope}
	}
	return KeyExplanation{Rule: string(rule.Key.Need), Identity: rule.Identity, Scope: rule.Scope}
}

// fillParts adds the parts of a derived key and names the first that is
// missing.
func (e *Explanation) fillParts(program *canon.Program, rule deed.Rule, principal deed.Principal, arguments []byte) (missing string, err error) {
	for _, name := range rule.Key.From {
		part := KeyPart{Name: name, Value: json.RawMessage("null")}
		switch {
		case name == "tenant":
			part.Value, err = json.Marshal(principal.Tenant)
		case name == "actor":
			part.Value, err = json.Marshal(principal.Actor)
		case name == "tool":
			part.Value, err = json.Marshal(rule.Tool)
		case !strings.HasPrefix(name, "meta."):
			value, found, wrong := program.Fact(arguments, name)
			err = wrong
			if found {
				part.Value = value
			} else if missing == "" {
				missing = name
			}
		}
		if err != nil {
			return "", err
		}
		e.Key.Parts = append(e.Key.Parts, part)
	}
	return missing, nil
}

// withoutKey leaves out the argument that carries the key, wherever it came
// from.
func withoutKey(arguments []byte, own string) ([]byte, error) {
	for _, name := range []string{keyArgument, own} {
		rest, _, _, err := canon.Without(arguments, name)
		if err != nil {
			return nil, err
		}
		arguments = rest
	}
	return arguments, nil
}

// withMethod adds the method, which is part of what a request of a route does,
// where it was left out: the route's name says it already.
func withMethod(arguments []byte, method string) ([]byte, error) {
	rest, _, written, err := canon.Without(arguments, "method")
	if err != nil || written {
		return arguments, err
	}
	rest = bytes.TrimSpace(rest)
	if len(rest) == 0 || rest[0] != '{' {
		return arguments, nil // refused as no object by whoever reads it next
	}
	with := fmt.Appendf(nil, `{"method":%q`, method)
	if !bytes.HasPrefix(bytes.TrimSpace(rest[1:]), []byte("}")) {
		with = append(with, ',')
	}
	return append(with, rest[1:]...), nil
}

// matterOf is the canonical list of the values at the pointers, nil when one of
// them is missing.
func matterOf(program *canon.Program, pointers []string, arguments []byte) json.RawMessage {
	if len(pointers) == 0 {
		return nil
	}
	list := []byte{'['}
	for i, pointer := range pointers {
		value, found, err := program.Fact(arguments, pointer)
		if err != nil || !found {
			return nil
		}
		list = append(append(list, ","[:min(i, 1)]...), value...)
	}
	return append(list, ']')
}

// plain is a refusal of the fingerprint without its own heading.
func plain(err error) string {
	var refused *canon.Error
	if !errors.As(err, &refused) {
		return err.Error()
	}
	if refused.Pointer == "" {
		return refused.Detail
	}
	return refused.Pointer + ": " + refused.Detail
}
