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
