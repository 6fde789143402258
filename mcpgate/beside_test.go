// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// A record that waits is not run once more after a call that was only observed,
// whatever it waits for, and whoever would run it.
func TestACallThatWasOnlyObservedIsNotSentOnceMoreByTheRecord(t *testing.T) {
	const late = `,"_meta":{"deed/expires_at":"2020-01-01T00:00:00Z"}`
	drop := func(u *heldUpstream) {
		u.oldest().Done(mcpgate.Reply{Delivery: mcpgate.Sent, Err: mcpgate.ErrUpstreamClosed})
	}
	for name, x := range map[string]struct {
		consent bool
		// first ends the call that makes the record, nil where that is not sent.
		first    func(*heldUpstream)
		approved bool
		meta     string // of the observed call, which would be begun and recorded without it
		sent     int    // calls before it
		refuses  func(*testing.T, house, *deed.Operation) error
		next     string // what the client sends then beside the same arguments
		want     map[string]any
	}{
		"a proposal": {
			consent: true,
			refuses: func(t *testing.T, h house, op *deed.Operation) error {
				_, err := h.runtime.Approve(t.Context(), approver, op.ID, deed.Consent{Digest: op.Approval.Digest})
				return err
			},
			want: map[string]any{"decision": "awaiting_approval"},
		},
		"what was approved": {
			consent: true, approved: true, meta: late,
			want: map[string]any{"decision": "uncertain", "reason": "twin_unresolved"},
		},
		"a doubt": {
			first: drop, sent: 1,
			refuses: func(t *testing.T, h house, op *deed.Operation) error {
				_, err := h.runtime.Resolve(t.Context(), operator, op.ID, deed.Resolution{Outcome: deed.ResolveNotApplied, Reason: "not there"})
				return err
			},
			want: map[string]any{"decision": "uncertain", "reason": "outcome_unknown"},
		},
		"a question": {
			first: func(u *heldUpstream) { u.answer(question) }, sent: 1,
			next: `,"inputResponses":{"ok":{"action":"accept"}},"requestState":"s-1"`,
			want: map[string]any{"decision": "uncertain", "reason": "twin_unresolved"},
		},
	} {
		for outcome, end := range map[string]func(*heldUpstream){"accepted": func(u *heldUpstream) { u.answer(doneResult) }, "lost": drop} {
			t.Run(name+", "+outcome, func(t *testing.T) {
				var observing atomic.Bool
				c, u, clock, h := held(t, hints(func(r *deed.Rule) {
					if x.consent {
						r.Approval = &deed.ApprovalRule{}
					}
					if observing.Load() {
						r.Mode = deed.ModeObserve
					}
				}), func(o *mcpgate.GateOptions) { o.RunsApproved = true })
				c.send(addCall, 1, "")
				if x.first != nil {
					<-u.came
					x.first(u)
				}
				c.reply("1")
				if x.approved {
					h.approve(t)
				}
				op := h.newest(t)

				observing.Store(true)
				c.send(addCall, 2, x.meta)
				<-u.came
				if x.refuses != nil {
					clock.Advance(3600e9)
					if err := x.refuses(t, h, op); err == nil || !strings.Contains(err.Error(), "in observe mode at 2026-") {
						t.Errorf("while it is under way, the decision is answered with %v", err)
					}
				}
				end(u)
				c.reply("2")
				observing.Store(false)

				if x.refuses != nil {
					if err := x.refuses(t, h, op); err == nil || !strings.Contains(err.Error(), "in observe mode at 2026-") {
						t.Errorf("the decision is answered with %v", err)
					}
				}
				if x.approved {
					answer, err := h.gate.RunApproved(t.Context(), u, nil, "t", op.ID)
					if err != nil || answer.Decision != deed.Uncertain || answer.Reason != deed.ReasonTwinUnresolved {
						t.Errorf("the worker is answered %s(%s), %v", answer.Decision, answer.Reason, err)
					}
				}
				if answer, err := h.gate.RunStored(t.Context(), u, nil, operator, op.ID); err == nil && answer.Decision == deed.Execute {
					t.Errorf("a person ran it: %s", answer.Effective)
				} else if err != nil && !errors.As(err, new(*deed.RefusedError)) {
					t.Error(err)
				}
				c.send(addCall, 3, x.next)
				third := c.reply("3")
				mustDecide(t, third, x.want)
				if x.approved {
					mustContain(t, third, "A call with this content is already out ("+string(op.ID)+") and unresolved.")
				}
				if n := u.count("tools/call"); n != x.sent+1 {
					t.Errorf("%d calls were sent, want %d", n, x.sent+1)
				}
			})
		}
	}
}
