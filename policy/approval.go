// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// Approval says which calls of a tool wait for a person.
type Approval struct {
	// When is nil when every call does.
	When *Condition
	// Approvers are empty when whoever has the right may decide.
	Approvers []deed.Actor
	Quorum    int
	// Expires is how long a proposal and its approval live.
	Expires time.Duration
	// OnCall leaves the dispatch to the caller's next call.
	OnCall bool
	// Self lets whoever asked approve.
	Self bool
	// Risk is low, medium or high: how much care a decision takes. Empty leaves
	// it to what else is known of the tool. It decides nothing about the call.
	Risk string
}

func defaultApproval() Approval {
	return Approval{Quorum: 1, Expires: deed.DefaultRule("").ApprovalExpires}
}

func approvalKeys() []key[Approval] {
	return []key[Approval]{
		{name: "when", initial: "'true'", read: func(d *decoder, at place, into *Approval) { d.condition(at, &into.When) }},
		{name: "approvers", read: func(d *decoder, at place, into *Approval) { into.Approvers = d.approvers(at) }},
		{name: "quorum", initial: "1", read: func(d *decoder, at place, into *Approval) {
			n := int64(into.Quorum)
			d.count(at, 100, &n)
			into.Quorum = int(n)
		}},
		{name: "expires", initial: "24h", read: func(d *decoder, at place, into *Approval) { d.duration(at, &into.Expires) }},
		{name: "run", initial: "on_approval", read: func(d *decoder, at place, into *Approval) {
			answer := "on_approval"
			word(d, at, &answer, "on_approval", "on_call")
			into.OnCall = answer == "on_call"
		}},
		{name: "self", initial: "false", read: func(d *decoder, at place, into *Approval) { d.truth(at, &into.Self) }},
		{name: "risk", read: func(d *decoder, at place, into *Approval) { word(d, at, &into.Risk, "low", "medium", "high") }},
	}
}

// approval reads the word required, or a block.
func (d *decoder) approval(at place, into **Approval) {
	approval := defaultApproval()
	*into = &approval
	if text, ok := written(at.node); ok {
		if text != "required" {
			d.unknownWord(at, text, []string{"required", "{when: ...}"})
		}
		return
	}
	before := len(d.found)
	block(d, at, approvalKeys(), &approval)
	if len(d.found) == before && len(approval.Approvers) > 0 && approval.Quorum > len(approval.Approvers) {
		d.refuse(d.inside(at, "quorum"), fmt.Sprintf("%d must agree, and only %d may approve, so that nothing ever runs", approval.Quorum, len(approval.Approvers)),
			"write a smaller number, or name more approvers")
	}
}

func (d *decoder) approvers(at place) []deed.Actor {
	var list []deed.Actor
	items := d.items(at, "actors")
	if items != nil && len(items) == 0 {
		d.refuse(at, "is an empty list, under which nobody may approve", "write the actors, or remove the key: then whoever has the right approve may")
	}
	for _, item := range items {
		var actor deed.Actor
		switch name(d, item, &actor); {
		case actor == "":
		case slices.Contains(list, actor):
			d.refuse(item, string(actor)+" is there already", "remove it")
		default:
			list = append(list, actor)
		}
	}
	return list
}

// rule is the approval as the domain asks for it.
func (a *Approval) rule(tool deed.Tool) *deed.ApprovalRule {
	if a == nil {
		return nil
	}
	rule := &deed.ApprovalRule{Approvers: slices.Clone(a.Approvers), Quorum: a.Quorum, Expires: a.Expires, OnCall: a.OnCall, Self: a.Self}
	if when := a.When; when != nil {
		rule.When = func(arguments []byte, principal deed.Principal) bool {
			holds, err := when.Holds(tool, arguments, principal)
			// Whoever cannot tell asks a person.
			return err != nil || holds
		}
	}
	return rule
}

// source is everything that the approval consists of, as one line.
func (a *Approval) source() string {
	var b strings.Builder
	b.WriteString("approval: " + a.condition())
	for _, actor := range a.Approvers {
		fmt.Fprintf(&b, ", by %q", actor)
	}
	fmt.Fprintf(&b, ", quorum %d, expires %s, on_call %t, self %t", a.Quorum, a.Expires, a.OnCall, a.Self)
	return b.String()
}

func (a *Approval) condition() string {
	if a.When == nil {
		return "true"
	}
	return a.When.Source()
}
