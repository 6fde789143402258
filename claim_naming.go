// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"fmt"
	"slices"
)

// named is the identity of a call: the keys it goes by, in order of
// precedence, all of them names of one operation.
type named struct {
	keys       []Key
	provenance Provenance
	// search holds lower carriers, kept as terms to search by.
	search map[string]string
}

// refusal is a denial before any record is looked at.
type refusal struct {
	reason Reason
	text   string
}

// name finds out which operation a call means: docs/tables.md section 3.
func (rt *Runtime) name(ctx context.Context, call Call, rule Rule, pick picker) (named, *refusal, error) {
	carriers := call.Carriers
	if call.Key != nil {
		carriers = append([]Carrier{{Provenance: ProvenanceRuntime, Identity: call.Key, Name: "Call.Key"}}, carriers...)
	}
	byProvenance := map[Provenance]Carrier{}
	for _, carrier := range carriers {
		if carrier.Wrong != "" {
			return named{}, &refusal{ReasonBadKey, carrier.Name + ": " + carrier.Wrong}, nil
		}
		if carrier.Provenance == ProvenanceRuntime || carrier.Provenance == ProvenanceModel {
			for _, identity := range append([]Identity{carrier.Identity}, carrier.Before...) {
				if wrong := checkKey(identity, call.VisibleASCIIKeys && carrier.Provenance == ProvenanceRuntime); wrong != "" {
					return named{}, &refusal{ReasonBadKey, carrier.Name + ": " + wrong}, nil
				}
			}
		}
		other, seen := byProvenance[carrier.Provenance]
		if !seen {
			byProvenance[carrier.Provenance] = carrier
			continue
		}
		if carrier.Provenance == ProvenanceRuntime && other.Identity != carrier.Identity {
			return named{}, &refusal{ReasonKeyCarriersDisagree, fmt.Sprintf("%s and %s", other.Name, carrier.Name)}, nil
		}
	}

	if carrier, ok := byProvenance[ProvenanceRuntime]; ok {
		result := named{provenance: ProvenanceRuntime, search: searchTerms(byProvenance)}
		for _, identity := range append([]Identity{carrier.Identity}, carrier.Before...) {
			carrier.Identity = identity
			key, err := rt.keyOf(ctx, carrier, call, rule)
			if err != nil {
				return named{}, nil, err
			}
			result.keys = append(result.keys, key)
		}
		return result, nil, nil
	}
	if len(call.Derive) > 0 {
		if len(rule.Key.From) > 0 && !slices.Equal(rule.Key.From, call.Derive) {
			return named{}, &refusal{ReasonBadKey, fmt.Sprintf("the keys of this tool are derived from %v", rule.Key.From)}, nil
		}
		rule.Key.From = call.Derive
	}
	if len(rule.Key.From) > 0 {
		return rt.nameDerived(ctx, call, rule, byProvenance, pick)
	}
	if rule.Key.Need == NeedRuntime {
		return named{}, &refusal{reason: ReasonMissingOperationKey, text: "this tool takes its key from the runtime: the Idempotency-Key header or _meta"}, nil
	}
	var result named
	for _, provenance := range []Provenance{ProvenanceCallID, ProvenanceModel} {
		carrier, ok := byProvenance[provenance]
		if !ok {
			continue
		}
		key, err := rt.keyOf(ctx, carrier, call, rule)
		if err != nil {
			return named{}, nil, err
		}
		if result.provenance == "" {
			result.provenance = provenance
		}
		result.keys = append(result.keys, key)
	}
	if len(result.keys) > 0 {
		return result, nil, nil
	}
	if rule.Key.Need != NeedOptional {
		return named{}, &refusal{reason: ReasonMissingOperationKey}, nil
	}
	return named{
		keys: []Key{{
			Actor: call.Principal.Actor, Family: FamilyOperation, Text: "random:" + newNonce(rt.random),
			Generation: 1, Provenance: ProvenanceNone,
		}},
		provenance: ProvenanceNone,
	}, nil, nil
}

// nameDerived builds the keys of a derivation rule and of the earlier ones
// that are still live.
func (rt *Runtime) nameDerived(ctx context.Context, call Call, rule Rule, carriers map[Provenance]Carrier, pick picker) (named, *refusal, error) {
	secret, err := rt.secret(ctx, "derive/"+string(call.Principal.Tenant))
	if err != nil {
		return named{}, nil, err
	}
	result := named{provenance: ProvenanceDerived, search: searchTerms(carriers)}
	for i, parts := range append([][]string{rule.Key.From}, rule.Key.Before...) {
		text, missing, err := deriveKey(secret, parts, call, pick)
		switch {
		case err != nil:
			return named{}, &refusal{ReasonBadArguments, err.Error()}, nil
		case missing != "" && i == 0:
			return named{}, &refusal{ReasonMissingOperationKey, "the key is derived from " + missing + ", which the call does not carry"}, nil
		case missing != "":
			continue
		}
		result.keys = append(result.keys, Key{
			Actor: scopeActor(rule, call), Family: rule.Identity, Text: text, Provenance: ProvenanceDerived,
		})
	}
	return result, nil, nil
}

// keyOf resolves a carrier into a ledger key. Keys that a model wrote, and
// call ids, are its actor's own whatever the scope.
func (rt *Runtime) keyOf(ctx context.Context, carrier Carrier, call Call, rule Rule) (Key, error) {
	key := Key{
		Actor: scopeActor(rule, call), Family: carrier.Identity.Family(), Text: carrier.Identity.text(),
		Generation: 1, Provenance: carrier.Provenance,
	}
	switch carrier.Provenance {
	case ProvenanceModel:
		key.Actor = call.Principal.Actor
	case ProvenanceCallID:
		key.Actor = call.Principal.Actor
		key.Text = "call:" + key.Text
	}
	if key.Family == FamilySecret {
		secret, err := rt.secret(ctx, "pepper")
		if err != nil {
			return Key{}, err
		}
		key.Text = pepper(secret, key.Text)
	}
	return key, nil
}

func scopeActor(rule Rule, call Call) Actor {
	if rule.Scope == ScopeActor {
		return call.Principal.Actor
	}
	return ""
}

func searchTerms(carriers map[Provenance]Carrier) map[string]string {
	terms := map[string]string{}
	if c, ok := carriers[ProvenanceCallID]; ok {
		terms["call_id"] = c.Identity.text()
	}
	if c, ok := carriers[ProvenanceModel]; ok {
		terms["model_key"] = c.Identity.text()
	}
	return terms
}
