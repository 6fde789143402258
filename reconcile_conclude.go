// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// conclude applies a verdict to the operation if it is still the one that was
// examined, and records it either way.
func (rt *Runtime) conclude(ctx context.Context, l lookup, v Verdict) (Finding, error) {
	var finding Finding
	spread := rt.spread()
	err := rt.write(ctx, Scope{Tenant: l.tenant, ID: l.id}, func(view View) (Change, error) {
		op := view.Operation
		if op == nil {
			return Change{}, fmt.Errorf("%s: %w", l.id, ErrNotFound)
		}
		var change Change
		var err error
		finding, change, err = l.conclude(op, v, view.Now, spread)
		return change, err
	})
	if err != nil {
		return Finding{}, fmt.Errorf("%s was looked up (%s by %s) and that could not be recorded: %w", l.id, v.Kind, v.Strategy, err)
	}
	op := finding.Operation
	if op.State() != StateUncertain {
		rt.sights.forget(op)
	}
	if !finding.Stale {
		rt.suspect(ctx, op)
	}
	return finding, nil
}

// conclude is the pure part: what the verdict makes of the operation.
func (l *lookup) conclude(op *Operation, v Verdict, now time.Time, spread float64) (Finding, Change, error) {
	rule := l.inquest.Rule
	finding := Finding{Verdict: v}
	var match Match
	finding.Counted, match, finding.Why = l.inquest.judge(v)
	c := cause{event: EventUndetermined, at: now, actor: l.who.Actor, attempt: l.inquest.Attempt.Number, retain: rule.Retention}
	if !l.mine(op) {
		finding.Stale = true
		return l.record(op, finding, c, l.given(op))
	}

	p := l.before
	if l.nonce != "" {
		p = *op.Current().Probing
	} else {
		p.Tries++
	}
	p.LeasedUntil, p.Worker, p.Lease = time.Time{}, "", ""
	p.LastAt, p.Last, p.Strategy = now, finding.Counted, v.Strategy
	gate := l.gate(p, v)
	switch finding.Counted {
	case VerdictFound:
		c.event = EventProved
		c.outcome = Outcome{Kind: OutcomeSuccess, Result: match.Result}
		c.actual = rule.charged(c.outcome)
		c.receipts = []Receipt{{
			RemoteSystem: op.Tool.Upstream(), RemoteID: match.RemoteID, RemoteURL: match.URL, Items: match.Items,
			Established: EstablishedFound, EstablishedBy: ByReconcile + v.Strategy,
		}}
	case VerdictMany:
		c.event, c.message = EventFoundMany, finding.Why
	case VerdictAbsent:
		permits, why := gate.permits()
		if passes, _ := gate.passes(); passes {
			if p.Misses == 0 {
				p.FirstMiss = l.lookedAt
			}
			p.Misses, p.LastMiss = p.Misses+1, l.lookedAt
		}
		if !permits || op.State() != StateUncertain || op.Reason == ReasonFoundMany {
			finding.Counted, finding.Why = VerdictUndetermined, firstText(why, "it was found before")
			break
		}
		c.event, c.by = EventFoundAbsent, ByReconcile+v.Strategy
		c.message = "looked up " + plural(p.Misses, "time") + " after it must have shown, and not there"
	}
	if c.event == EventUndetermined || c.event == EventFoundMany {
		p.plan(op, rule, l.gate(p, v), now, spread)
	}
	return l.record(op, finding, c, &p)
}

// given is the look-up's own lease given back, nil where it has none: that it came
// too late is no reason to keep others waiting.
func (l *lookup) given(op *Operation) *Probing {
	current := op.Current()
	if l.nonce == "" || current == nil || current.Probing == nil || current.Probing.Lease != l.nonce {
		return nil
	}
	p := *current.Probing
	p.LeasedUntil, p.Worker, p.Lease = time.Time{}, "", ""
	return &p
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (l *lookup) gate(p Probing, v Verdict) absence {
	return absence{
		maxProcessing: l.inquest.Rule.MaxProcessing, readLag: l.inquest.Rule.ReadLag,
		begunAt: l.inquest.Attempt.BegunAt, sendBy: l.inquest.SendBy, lookedAt: l.lookedAt, watched: l.watched,
		complete: v.Complete, misses: p.Misses, lastMiss: p.LastMiss,
	}
}

// record applies the event of a look-up and describes the look-up in it.
func (l *lookup) record(op *Operation, finding Finding, c cause, p *Probing) (Finding, Change, error) {
	next, event, err := apply(op, c)
	if err != nil {
		return Finding{}, Change{}, err
	}
	if p != nil && p.GaveUpAt.IsZero() && next.State() != StateUncertain {
		p.NextAt = time.Time{}
	}
	if p != nil {
		next.Current().Probing = p
	}
	event.Attempt = l.inquest.Attempt.Number
	event.Data = finding.data(l, p)
	finding.Operation = next
	change := Change{Put: []*Operation{next}, Events: []Event{event}}
	if p != nil && p.GaveUpAt.Equal(c.at) {
		gaveUp := event
		gaveUp.Name, gaveUp.From, gaveUp.Data = EventGaveUp, next.Status, note("look-ups have ended after "+plural(p.Tries, "try")+"; a person must decide")
		change.Events = append(change.Events, gaveUp)
	}
	return finding, change, nil
}

// maxEvidence bounds what is kept of a look-up's answer.
const maxEvidence = 4 << 10

// data is what the history shows of a look-up.
func (f Finding) data(l *lookup, p *Probing) []byte {
	type object struct {
		RemoteID string `json:"remote_id,omitempty"`
		URL      string `json:"url,omitempty"`
		Own      bool   `json:"own"`
	}
	doc := struct {
		Strategy string      `json:"strategy"`
		Verdict  VerdictKind `json:"verdict"`
		Counted  VerdictKind `json:"counted"`
		Why      string      `json:"why,omitempty"`
		Complete bool        `json:"complete"`
		Stale    bool        `json:"stale,omitempty"`
		Matches  []object    `json:"matches,omitempty"`
		Evidence string      `json:"evidence,omitempty"`
		LookedAt time.Time   `json:"looked_at"`
		NextAt   time.Time   `json:"next_at,omitzero"`
	}{
		Strategy: f.Verdict.Strategy, Verdict: f.Verdict.Kind, Counted: f.Counted, Why: f.Why,
		Complete: f.Verdict.Complete, Stale: f.Stale, LookedAt: l.lookedAt,
		Evidence: f.Verdict.Evidence[:min(len(f.Verdict.Evidence), maxEvidence)],
	}
	for i, m := range f.Verdict.Matches {
		if i == 20 {
			break
		}
		doc.Matches = append(doc.Matches, object{m.RemoteID, m.URL, l.inquest.carries(m.Token)})
	}
	if p != nil {
		doc.NextAt = p.NextAt
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return note("a look-up whose answer cannot be written down: " + err.Error())
	}
	return data
}

// spread is a random number between 0 and 1, so that look-ups of many
// operations do not come at once.
func (rt *Runtime) spread() float64 {
	var raw [2]byte
	mustRead(rt.random, raw[:])
	return float64(uint16(raw[0])<<8|uint16(raw[1])) / (1 << 16)
}
