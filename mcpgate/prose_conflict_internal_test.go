// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"strings"
	"testing"

	"github.com/deed-run/deed"
)

func TestAConflictSaysWhetherToolServerOrArgumentsDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		recorded deed.Tool
		want     string
	}{
		"arguments": {"q/pay.refund", "already names a different pay.refund action (committed, no id known); these arguments differ."},
		"server":    {"p/pay.refund", "already names an action under another name of a server, p/pay.refund (committed, no id known); this call is of q/pay.refund."},
		"tool":      {"q/pay.charge", "already names an action of another tool, pay.charge (committed, no id known); this call is of pay.refund."},
	} {
		t.Run(name, func(t *testing.T) {
			s := situation{tool: "pay.refund", answer: deed.Answer{
				Decision: deed.Conflict, Reason: deed.ReasonKeyReused, Effective: deed.StatusCommitted, Rule: deed.Rule{Tool: "q/pay.refund"},
				Operation: &deed.Operation{Tool: c.recorded, Status: deed.StatusCommitted, Receipts: []deed.Receipt{{}}},
			}}
			if got := s.conflicting().Text; !strings.Contains(got, c.want) {
				t.Errorf("it says %q", got)
			}
		})
	}
}

// The record may go by a name that the model never wrote: a call id, or that of what a person edited.
func TestAConflictNamesTheKeyThatTheModelWrote(t *testing.T) {
	d := &described{Definition: &Definition{Name: "pay.refund"}, own: keyArgument}
	const wrote = "refund:order-1042:first"
	for name, c := range map[string]struct {
		recorded  deed.Key
		arguments string
		want      string
	}{
		"a call id beside it":   {deed.Key{Text: "call:c1_abc", Provenance: deed.ProvenanceCallID}, `{"idempotency_key":"` + wrote + `"}`, "Not sent. Key " + wrote + " already names"},
		"what a person edited":  {deed.Key{Text: "edit:abc", Provenance: deed.ProvenanceNone}, `{"idempotency_key":"` + wrote + `"}`, "Not sent. Key " + wrote + " already names"},
		"a program's own":       {deed.Key{Text: "cart-17:refund:first", Provenance: deed.ProvenanceRuntime}, `{"idempotency_key":"` + wrote + `"}`, "Not sent. Key cart-17:refund:first already names"},
		"a call id alone":       {deed.Key{Text: "call:c1_abc", Provenance: deed.ProvenanceCallID}, `{}`, "Not sent. This identity already names"},
		"no key can be written": {deed.Key{Text: "call:c1_abc", Provenance: deed.ProvenanceCallID}, `{"idempotency_key":7}`, "Not sent. This identity already names"},
	} {
		t.Run(name, func(t *testing.T) {
			s := situate(deed.Answer{
				Decision: deed.Conflict, Reason: deed.ReasonKeyReused, Effective: deed.StatusCommitted,
				Operation: &deed.Operation{ID: "op_1", Tool: "q/pay.refund", Key: c.recorded, Status: deed.StatusCommitted},
			}, d, surroundings{})
			s.spoken(d, []byte(`{"arguments":`+c.arguments+`}`))
			if got := s.conflicting().Text; !strings.HasPrefix(got, c.want) {
				t.Errorf("it says %q", got)
			}
		})
	}
}
