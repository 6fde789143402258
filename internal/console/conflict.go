// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"time"

	"github.com/deed-run/deed"
)

// refusal is a call that was refused because its key names another effect.
// The ledger keeps its fingerprint and never its arguments.
type refusal struct {
	At          time.Time
	Actor       deed.Actor
	Reason      deed.Reason
	Fingerprint deed.Fingerprint
	Times       int
	Last        time.Time
	// Other is an operation with exactly the refused effect, under another key,
	// if there is one: then the two can be compared.
	Other   *row
	Changes []change
	More    bool
	Shown   bool
}

type conflictPage struct {
	*deed.Operation
	Key      string
	Status   deed.Status
	Refusals []refusal
	// Left is how many refusals are not looked into.
	Left    int
	Given   string
	Changes []change
	More    bool
	Asked   bool
	Problem string
}

// shownRefusals bounds the effects that one page looks up.
const shownRefusals = 10

func conflictsIn(events []deed.Event) []deed.Event {
	var list []deed.Event
	for _, e := range events {
		if deed.Decision(e.Name) == deed.Conflict {
			list = append(list, e)
		}
	}
	return list
}

// conflicts shows GET /op/{id}/conflicts.
func (v *visit) conflicts() { v.conflictsWith(http.StatusOK, func(*conflictPage) {}) }

func (v *visit) conflictsWith(status int, change func(*conflictPage)) {
	op, err := v.console.Runtime.Get(v.Context(), v.who, v.id())
	if err != nil {
		v.failed(err)
		return
	}
	events, err := v.console.Runtime.Events(v.Context(), v.who, op.ID)
	if err != nil {
		v.failed(err)
		return
	}
	p := conflictPage{Operation: op, Key: keyOf(op), Status: op.EffectiveStatus(v.now)}
	p.Refusals, p.Left = refusalsIn(events)
	for i := range p.Refusals {
		if err := v.counterpart(op, &p.Refusals[i]); err != nil {
			v.failed(err)
			return
		}
	}
	change(&p)
	v.show(status, "conflicts", "Conflicts of "+string(op.Tool), p)
}

// refusalsIn groups refusals by what was refused and for whom, newest first.
func refusalsIn(events []deed.Event) ([]refusal, int) {
	type who struct {
		fingerprint deed.Fingerprint
		actor       deed.Actor
	}
	places := map[who]int{}
	var list []refusal
	conflicts := conflictsIn(events)
	for i := len(conflicts) - 1; i >= 0; i-- {
		e := conflicts[i]
		at, ok := places[who{e.Fingerprint, e.Actor}]
		if !ok {
			places[who{e.Fingerprint, e.Actor}] = len(list)
			list = append(list, refusal{At: e.At, Last: e.At, Actor: e.Actor, Reason: e.Reason, Fingerprint: e.Fingerprint, Times: 1})
			continue
		}
		list[at].Times++
		list[at].At = e.At
	}
	if len(list) > shownRefusals {
		return list[:shownRefusals], len(list) - shownRefusals
	}
	return list, 0
}

// counterpart looks for an operation with exactly the refused effect and
// compares what both would send.
func (v *visit) counterpart(op *deed.Operation, r *refusal) error {
	if r.Fingerprint == "" {
		return nil
	}
	page, err := v.console.Runtime.List(v.Context(), v.who, deed.Query{Fingerprint: r.Fingerprint, Tool: op.Tool, Limit: 1})
	if err != nil || len(page.Operations) == 0 || page.Operations[0].ID == op.ID {
		return err
	}
	other, err := v.console.Runtime.Get(v.Context(), v.who, page.Operations[0].ID)
	if err != nil {
		return err
	}
	line := rowOf(other, v.now)
	r.Other = &line
	if op.Arguments != nil && other.Arguments != nil {
		r.Shown = true
		r.Changes, r.More = difference(op.Arguments, other.Arguments)
	}
	return nil
}

// compareGiven answers POST /op/{id}/compare: arguments that a person has from
// elsewhere, such as the agent's own log. They are not kept.
func (v *visit) compareGiven() {
	given := v.PostFormValue("arguments")
	v.conflictsWith(http.StatusOK, func(p *conflictPage) {
		p.Given, p.Asked = given, true
		switch {
		case p.Operation.Arguments == nil:
			p.Problem = "The stored arguments are gone: their retention ended. There is nothing to compare with."
		case given == "":
			p.Problem = "Paste the arguments to compare with."
		default:
			p.Changes, p.More = difference(p.Operation.Arguments, []byte(given))
		}
	})
}

type comparePage struct {
	A, B    *deed.Operation
	Rows    []row
	Changes []change
	More    bool
	Shown   bool
	Same    bool
}

// compare shows GET /compare: what two operations send.
func (v *visit) compare() {
	var p comparePage
	for _, side := range []struct {
		name string
		op   **deed.Operation
	}{{"a", &p.A}, {"b", &p.B}} {
		op, err := v.console.Runtime.Get(v.Context(), v.who, deed.OperationID(v.URL.Query().Get(side.name)))
		if err != nil {
			v.failed(err)
			return
		}
		*side.op = op
		p.Rows = append(p.Rows, rowOf(op, v.now))
	}
	p.Same = p.A.Fingerprint == p.B.Fingerprint
	if p.A.Arguments != nil && p.B.Arguments != nil {
		p.Shown = true
		p.Changes, p.More = difference(p.A.Arguments, p.B.Arguments)
	}
	v.show(http.StatusOK, "compare", "Two operations", p)
}
