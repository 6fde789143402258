// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"slices"
	"time"

	"github.com/deed-run/deed"
)

var listCases = []testCase{
	{"operations are listed newest first, without bytes", func(f *fixture) {
		first := f.with(deed.StatusCommitted, func(op *deed.Operation) { op.Result, op.ResultDigest = []byte("r"), digestOf("r") })
		second := f.with(deed.StatusExecuting, nil)
		page := f.list(deed.Query{Tenant: tenant})
		f.equal("the page", page, deed.Page{Operations: []*deed.Operation{without(second), without(first)}})
	}},
	{"every filter selects", func(f *fixture) {
		op := f.with(deed.StatusFailed, func(op *deed.Operation) {
			op.Reason, op.Actor, op.Tool = deed.ReasonRefused, "jane", "mail/send"
			op.Meta = map[string]string{"conversation": "c9", `odd "name"`: "x"}
		})
		f.with(deed.StatusExecuting, nil)
		alias := op.Key
		alias.Text, alias.Family, alias.Actor = "an-alias-of-the-key", deed.FamilyCreation, "jane"
		f.transact(deed.Scope{Tenant: tenant, ID: op.ID}, deed.Change{Bind: []deed.Binding{{Key: alias, Operation: op.ID}}})
		for name, query := range map[string]deed.Query{
			"status":            {Statuses: []deed.Status{deed.StatusFailed, deed.StatusDenied}},
			"tool":              {Tool: "mail/send"},
			"actor":             {Actor: "jane"},
			"key":               {Key: op.Key.Text},
			"alias":             {Key: alias.Text},
			"fingerprint":       {Fingerprint: op.Fingerprint},
			"matter":            {Matter: op.Matter},
			"reason":            {Reason: deed.ReasonRefused},
			"meta":              {Meta: map[string]string{"conversation": "c9"}},
			"several of meta":   {Meta: map[string]string{"conversation": "c9", `odd "name"`: "x"}},
			"several of a kind": {Tool: "mail/send", Actor: "jane", Key: op.Key.Text, Reason: deed.ReasonRefused},
		} {
			query.Tenant = tenant
			f.equal(name, ids(f.list(query).Operations), []deed.OperationID{op.ID})
		}
		for name, query := range map[string]deed.Query{
			"status": {Statuses: []deed.Status{deed.StatusDenied}}, "unknown status": {Statuses: []deed.Status{"no such"}},
			"tool": {Tool: "x/y"}, "actor": {Actor: "joe"}, "key": {Key: "x"}, "fingerprint": {Fingerprint: "x"}, "matter": {Matter: "x"},
			"reason": {Reason: deed.ReasonAbsent}, "meta": {Meta: map[string]string{"conversation": "c8"}},
			"contradicting": {Tool: "mail/send", Actor: "support"},
		} {
			query.Tenant = tenant
			f.equal("not: "+name, ids(f.list(query).Operations), []deed.OperationID{})
		}
	}},
	{"statuses select as stored, or as they count at a moment", func(f *fixture) {
		now := f.clock.Now()
		live := f.with(deed.StatusExecuting, nil)
		lost := f.with(deed.StatusExecuting, func(op *deed.Operation) { op.LeaseExpiresAt = now })
		asked := f.with(deed.StatusAwaitingInput, nil)
		unanswered := f.with(deed.StatusAwaitingInput, func(op *deed.Operation) { op.InputExpiresAt = now.Add(-time.Second) })
		uncertain := f.with(deed.StatusUncertain, nil)
		committed := f.with(deed.StatusCommitted, nil)
		list := func(effective time.Time, statuses ...deed.Status) []deed.OperationID {
			f.Helper()
			return ids(f.list(deed.Query{Tenant: tenant, Statuses: statuses, Effective: effective}).Operations)
		}
		f.equal("stored executing", list(time.Time{}, deed.StatusExecuting), []deed.OperationID{lost.ID, live.ID})
		f.equal("stored uncertain", list(time.Time{}, deed.StatusUncertain), []deed.OperationID{uncertain.ID})
		f.equal("effective executing", list(now, deed.StatusExecuting), []deed.OperationID{live.ID})
		f.equal("effective awaiting input", list(now, deed.StatusAwaitingInput), []deed.OperationID{asked.ID})
		f.equal("effective uncertain", list(now, deed.StatusUncertain), []deed.OperationID{uncertain.ID, unanswered.ID, lost.ID})
		f.equal("effective all", list(now, deed.StatusCommitted, deed.StatusUncertain, deed.StatusExecuting, deed.StatusExecuting),
			[]deed.OperationID{committed.ID, uncertain.ID, unanswered.ID, lost.ID, live.ID})
		f.equal("effective later", list(now.Add(time.Hour), deed.StatusUncertain),
			[]deed.OperationID{uncertain.ID, unanswered.ID, asked.ID, lost.ID, live.ID})
	}},
	{"operations on which evidence disagrees are found among the others", func(f *fixture) {
		quiet := f.with(deed.StatusCommitted, nil)
		diverged := f.with(deed.StatusCommitted, func(op *deed.Operation) { op.Diverged = true })
		contradicted := f.with(deed.StatusCommitted, func(op *deed.Operation) { op.Contradicted = true })
		running := f.with(deed.StatusExecuting, func(op *deed.Operation) { op.Diverged = true })
		f.with(deed.StatusUncertain, func(op *deed.Operation) { op.Message = `"diverged":true,"contradicted":true` })
		flagged := func(query deed.Query) []deed.OperationID {
			f.Helper()
			query.Tenant, query.Flagged = tenant, true
			return ids(f.list(query).Operations)
		}
		f.equal("flagged", flagged(deed.Query{}), []deed.OperationID{contradicted.ID, diverged.ID})
		f.equal("flagged and older", flagged(deed.Query{Before: contradicted.ID}), []deed.OperationID{diverged.ID})
		f.equal("flagged of a tool", flagged(deed.Query{Tool: "no/tool"}), []deed.OperationID{})
		f.equal("flagged of a status", flagged(deed.Query{Statuses: []deed.Status{deed.StatusFailed}}), []deed.OperationID{})
		f.equal("a page of flagged ones", f.list(deed.Query{Tenant: tenant, Flagged: true, Limit: 1}).Next, contradicted.ID)
		f.move(running.ID, func(op *deed.Operation) { toStatus(op, deed.StatusCommitted, f.clock.Now()) })
		f.move(quiet.ID, func(op *deed.Operation) { op.Contradicted = true })
		f.equal("flagged later", flagged(deed.Query{}), []deed.OperationID{running.ID, contradicted.ID, diverged.ID, quiet.ID})
		f.equal("of another tenant", ids(f.list(deed.Query{Tenant: "other", Flagged: true}).Operations), []deed.OperationID{})
	}},
	{"the operations of one tool are found among many of others", func(f *fixture) {
		rare := f.with(deed.StatusCommitted, func(op *deed.Operation) { op.Tool = "crm/rare" })
		asked := f.with(deed.StatusAwaitingApproval, func(op *deed.Operation) { op.Tool = "crm/rare" })
		for range 5 {
			f.with(deed.StatusCommitted, nil)
		}
		ran := f.with(deed.StatusExecuting, func(op *deed.Operation) { op.Tool = "crm/rare" })
		query := deed.Query{Tenant: tenant, Tool: "crm/rare"}
		f.equal("all", ids(f.list(query).Operations), []deed.OperationID{ran.ID, asked.ID, rare.ID})
		query.Limit = 2
		page := f.list(query)
		f.equal("a page", ids(page.Operations), []deed.OperationID{ran.ID, asked.ID})
		query.Before = page.Next
		f.equal("the next page", ids(f.list(query).Operations), []deed.OperationID{rare.ID})
		f.equal("the committed ones", ids(f.list(deed.Query{Tenant: tenant, Tool: "crm/rare", Statuses: []deed.Status{deed.StatusCommitted}}).Operations), []deed.OperationID{rare.ID})
	}},
	{"an operation that moved is listed where it is now", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		for _, status := range []deed.Status{deed.StatusUncertain, deed.StatusFailed, deed.StatusExecuting, deed.StatusCommitted} {
			f.move(op.ID, func(op *deed.Operation) { toStatus(op, status, f.clock.Now()) })
			for _, other := range deed.Statuses() {
				found := len(f.list(deed.Query{Tenant: tenant, Statuses: []deed.Status{other}}).Operations)
				if found == 1 != (other == status) {
					f.Errorf("while it is %s, %d are listed as %s", status, found, other)
				}
			}
		}
	}},
}

var pageCases = []testCase{
	{"pages follow each other without gap or overlap", func(f *fixture) {
		var all []deed.OperationID
		statuses := []deed.Status{deed.StatusCommitted, deed.StatusFailed, deed.StatusUncertain}
		for i := range 23 {
			all = append(all, f.with(statuses[i%3], nil).ID)
		}
		slices.Reverse(all)
		for _, filter := range [][]deed.Status{nil, statuses} {
			for _, limit := range []int{1, 5, 22, 23, 24} {
				var got []deed.OperationID
				query := deed.Query{Tenant: tenant, Limit: limit, Statuses: filter}
				for {
					page := f.list(query)
					got = append(got, ids(page.Operations)...)
					if len(page.Operations) > limit {
						f.Fatalf("%d on a page of %d", len(page.Operations), limit)
					}
					if page.Next == "" {
						break
					}
					query.Before = page.Next
				}
				f.equal("all pages", got, all)
			}
		}
	}},
	{"a page has 50 unless more are asked for, and never over 1000", func(f *fixture) {
		var batch []*deed.Operation
		for range 1002 {
			batch = append(batch, f.operation())
		}
		f.put(batch...)
		for limit, want := range map[int]int{0: 50, 51: 51, 1000: 1000, 5000: 1000} {
			page := f.list(deed.Query{Tenant: tenant, Limit: limit})
			if len(page.Operations) != want || page.Next != page.Operations[want-1].ID {
				f.Errorf("limit %d gave %d, next %s", limit, len(page.Operations), page.Next)
			}
		}
	}},
}

var lapsedCases = []testCase{
	{"lapsed operations are those whose time has run out and that nobody moved", func(f *fixture) {
		now := f.clock.Now()
		soon, late := now.Add(time.Second), now.Add(time.Hour)
		var want []deed.OperationID
		add := func(status deed.Status, lapses bool, edit func(*deed.Operation)) {
			op := f.with(status, edit)
			if lapses {
				want = append(want, op.ID)
			}
		}
		for _, at := range []time.Time{soon, late} {
			add(deed.StatusExecuting, at == soon, func(op *deed.Operation) { op.LeaseExpiresAt = at })
			add(deed.StatusAwaitingInput, at == soon, func(op *deed.Operation) { op.InputExpiresAt = at })
			add(deed.StatusAuthorized, at == soon, func(op *deed.Operation) { op.DispatchBy = at })
			add(deed.StatusAwaitingApproval, at == soon, func(op *deed.Operation) {
				op.Approval, op.DispatchBy = &deed.Approval{ExpiresAt: at}, late.Add(time.Hour)
			})
			add(deed.StatusFailed, at == soon, func(op *deed.Operation) { op.Retryable, op.DispatchBy = true, at })
		}
		add(deed.StatusFailed, false, func(op *deed.Operation) { op.DispatchBy = soon })
		add(deed.StatusCommitted, false, func(op *deed.Operation) { op.DispatchBy = soon })
		slices.Reverse(want)
		f.equal("at that moment", ids(f.list(deed.Query{Tenant: tenant, Lapsed: soon}).Operations), want)
		f.equal("just before", ids(f.list(deed.Query{Tenant: tenant, Lapsed: soon.Add(-time.Microsecond)}).Operations), []deed.OperationID{})
	}},
	{"without a tenant the lapsed ones of all tenants are listed", func(f *fixture) {
		first := f.with(deed.StatusExecuting, nil)
		second := f.with(deed.StatusExecuting, func(op *deed.Operation) { op.Tenant = "other" })
		f.equal("all", ids(f.list(deed.Query{Lapsed: first.LeaseExpiresAt}).Operations), []deed.OperationID{second.ID, first.ID})
		f.equal("no other query does that", ids(f.list(deed.Query{}).Operations), []deed.OperationID{})
	}},
}
