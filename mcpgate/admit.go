// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/canon"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
	"github.com/deed-run/deed/outcome"
)

// Now is the time by the clock that calls are judged by.
func (g *Gate) Now() time.Time { return g.clock.Now() }

// Admit lets calls of known read-only tools through at once; everything else is for Call.
func (g *Gate) Admit(ctx context.Context, s *Session, m Message, h http.Header) Admission {
	name, _ := rawjson.Text(m.Params, "name")
	d := g.lookup(deed.Tool(s.Upstream + "/" + name))
	if m.IsNotification() || d == nil || d.rule.Mutates() || d.facts.Quarantined || d.stale {
		return Admission{At: g.clock.Now()}
	}
	return g.admitRead(ctx, s, m, d)
}

// admitRead forwards a read within its rate, its key stripped and ignored.
func (g *Gate) admitRead(ctx context.Context, s *Session, m Message, d *described) Admission {
	if problem := ambiguous(m); problem != "" {
		return Admission{Answer: g.refusal(m, s, d, deed.ReasonBadArguments, problem)}
	}
	if d.facts.Quarantined {
		return Admission{Answer: g.refusal(m, s, d, deed.ReasonQuarantined, "")}
	}
	r, err := takeApart(m.Params, d.own != keyArgument)
	if err != nil {
		return Admission{Answer: g.refusal(m, s, d, deed.ReasonBadArguments, err.Error())}
	}
	call := deed.Call{Principal: s.Principal, Tool: d.rule.Tool, Arguments: r.arguments, Facts: d.facts}
	if r.meta != nil {
		call.Meta = facts(r.meta)
	}
	ctx = g.received(ctx, m.Params)
	answer, grant, err := g.ledger.Claim(ctx, call)
	if err != nil {
		return Admission{Answer: ErrorMessage(m.ID, codeInternal, "tools/call: nothing was sent: "+err.Error())}
	}
	if grant == nil {
		return Admission{Answer: g.render(m, s, d, answer, false)}
	}
	if params := g.sending(ctx, r.upstream); string(params) != string(m.Params) {
		if m, err = m.With("params", params); err != nil {
			return Admission{Answer: g.refusal(m, s, d, deed.ReasonBadArguments, err.Error())}
		}
	}
	return Admission{Forward: true, Message: m, Done: func(reply Reply) {
		_, _ = g.ledger.Settle(context.WithoutCancel(ctx), grant, readOutcome(reply))
	}}
}

// readOutcome is what telemetry is told of a read; nothing is recorded, so its text need not be understood.
func readOutcome(r Reply) deed.Outcome {
	switch {
	case r.Delivery == Answered && r.Message.Result != nil && !isErrorResult(r.Message.Result):
		return deed.Outcome{Kind: deed.OutcomeSuccess}
	case r.Delivery == Answered:
		return deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonToolError}
	}
	return outcome.Lost(r.Delivery == Unsent, fmt.Sprint(r.Err))
}

// ambiguous says why two readers could see two different calls in the message, or "".
func ambiguous(m Message) string {
	if err := canon.Strict(m.Raw); err != nil {
		return err.Error()
	}
	members, err := rawjson.Members(m.Params)
	if err != nil {
		return "params is no object"
	}
	for _, member := range members {
		for _, name := range [...]string{"name", "arguments", "_meta", "idempotencyKey"} {
			if member.Name != name && strings.EqualFold(member.Name, name) {
				return fmt.Sprintf("params has a member %q, which looks like %q", member.Name, name)
			}
		}
	}
	return ""
}
