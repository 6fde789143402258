// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// noted is a refund with a note that the fingerprint leaves out.
func noted(note string) deed.Call {
	call := refund("12")
	call.Arguments = []byte(`{"order_id":"1042","amount":12,"note":"` + note + `"}`)
	return call
}

func important(arguments []byte, _ deed.Principal) bool {
	return strings.Contains(string(arguments), "important")
}

func TestConditionsJudgeTheBytesThatWouldBeSent(t *testing.T) {
	for name, c := range map[string]struct {
		approved bool
		change   func(*deed.Rule)
		want     deed.Decision
		reason   deed.Reason
	}{
		"approved under other rules": {true, func(rule *deed.Rule) {
			rule.Approval = &deed.ApprovalRule{When: important, Approvers: []deed.Actor{"bob"}}
		}, deed.AwaitingApproval, deed.ReasonPending},
		"approved and denied by now": {true, denying, deed.Denied, deed.ReasonPolicyChanged},
		"retryable and to be approved by now": {false, func(rule *deed.Rule) {
			rule.Approval = &deed.ApprovalRule{When: important}
		}, deed.AwaitingApproval, deed.ReasonPending},
		"retryable and denied by now": {false, denying, deed.Denied, deed.ReasonPolicyChanged},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, func(rule *deed.Rule) {
				rule.Fingerprint.Exclude = []string{"/note"}
				if c.approved {
					rule.Approval = &deed.ApprovalRule{When: important}
				}
			})
			if c.approved {
				b.approve(person("alice"), b.do(noted("important")).Operation)
			} else {
				_, grant := b.claim(b.rt, noted("important"))
				b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnsent})
			}
			b.clock.Advance(time.Minute)
			c.change(&b.rule)
			b.rule.Revision = "2"
			b.rt = b.process()
			b.want(b.do(noted("plain")), c.want, c.reason, 0)
		})
	}
}

func denying(rule *deed.Rule) {
	rule.Deny = func(arguments []byte, who deed.Principal) string {
		if important(arguments, who) {
			return "nothing important"
		}
		return ""
	}
}

func TestWhatIsObservedLeavesNothingToApprove(t *testing.T) {
	b := newRig(t, approving(nil))
	b.rule.Mode = deed.ModeObserve
	b.rt = b.process()
	answer := b.do(refund("12"))
	b.want(answer, deed.Execute, deed.ReasonPending, 1)
	if answer.WouldBe != deed.AwaitingApproval {
		t.Errorf("it would have been %q", answer.WouldBe)
	}
	page, err := b.rt.List(context.Background(), operator, deed.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range page.Operations {
		if op.Status != deed.StatusCommitted {
			t.Errorf("%s is %s: whoever approves it has it run once more", op.ID, op.Status)
		}
	}
}
