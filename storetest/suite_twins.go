// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"slices"
	"time"

	"github.com/deed-run/deed"
)

// sameEffect gives an operation the effect and matter of another.
func sameEffect(as *deed.Operation) func(*deed.Operation) {
	return func(op *deed.Operation) { op.Fingerprint, op.Matter = as.Fingerprint, as.Matter }
}

func (f *fixture) twinsOf(op *deed.Operation) []*deed.Operation {
	f.Helper()
	return f.load(deed.Scope{
		Tenant: tenant, ID: op.ID, Tool: op.Tool,
		Fingerprints: []deed.Fingerprint{op.Fingerprint}, Matters: []deed.Matter{op.Matter},
	}).Twins
}

// without strips what twins are read without.
func without(op *deed.Operation) *deed.Operation {
	op = copyOperation(op)
	op.Arguments, op.Result = nil, nil
	return op
}

// newestOf sorts ids, which rise with time, and leaves out the empty one.
func newestOf(list []deed.OperationID) []deed.OperationID {
	slices.Sort(list)
	slices.Reverse(list)
	return slices.DeleteFunc(list, func(id deed.OperationID) bool { return id == "" })
}

var twinCases = []testCase{
	{"twins are others with the same fingerprint or matter, without bytes", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		byFingerprint := f.with(deed.StatusCommitted, func(twin *deed.Operation) {
			twin.Fingerprint, twin.Result, twin.ResultDigest = op.Fingerprint, []byte("r"), digestOf("r")
		})
		byMatter := f.with(deed.StatusUncertain, func(twin *deed.Operation) { twin.Matter = op.Matter })
		f.with(deed.StatusExecuting, nil)
		f.with(deed.StatusExecuting, func(twin *deed.Operation) { sameEffect(op)(twin); twin.Tool = "payments/capture" })
		f.equal("twins", f.twinsOf(op), []*deed.Operation{without(byMatter), without(byFingerprint)})
	}},
	{"a scope without lists or tool asks for none", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		f.equal("without lists", f.load(deed.Scope{Tenant: tenant, Tool: op.Tool}).Twins, []*deed.Operation(nil))
		f.equal("without tool", f.load(deed.Scope{Tenant: tenant, Fingerprints: []deed.Fingerprint{op.Fingerprint}}).Twins, []*deed.Operation(nil))
	}},
	{"an empty matter is nobody's twin", func(f *fixture) {
		f.with(deed.StatusExecuting, func(op *deed.Operation) { op.Matter = "" })
		op := f.with(deed.StatusExecuting, func(op *deed.Operation) { op.Matter = "" })
		f.equal("twins", f.twinsOf(op), []*deed.Operation(nil))
	}},
	{"all that is unresolved, pending or undelivered is there", func(f *fixture) {
		op := f.operation()
		var want []deed.OperationID
		for _, status := range []deed.Status{
			deed.StatusAwaitingApproval, deed.StatusAuthorized, deed.StatusExecuting, deed.StatusAwaitingInput,
			deed.StatusUncertain, deed.StatusCommitted,
		} {
			for range 3 {
				want = append(want, f.with(status, sameEffect(op)).ID)
			}
		}
		slices.Reverse(want)
		f.equal("twins", ids(f.twinsOf(op)), want)
	}},
	{"of what is settled and delivered the newest of each status is there", func(f *fixture) {
		op := f.operation()
		var want []deed.OperationID
		for _, status := range []deed.Status{
			deed.StatusCommitted, deed.StatusFailed, deed.StatusDenied, deed.StatusCancelled, deed.StatusExpired, deed.StatusUncertain,
		} {
			var newest *deed.Operation
			for range 3 {
				newest = f.with(status, func(twin *deed.Operation) {
					sameEffect(op)(twin)
					twin.DeliveredAt = f.clock.Now()
					if status == deed.StatusUncertain {
						twin.Reason = deed.ReasonAbandoned
					}
				})
			}
			want = append(want, newest.ID)
		}
		slices.Reverse(want)
		f.equal("twins", ids(f.twinsOf(op)), want)
	}},
	{"however many are alike, the open ones and the newest of each status are there", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		var open []deed.OperationID
		var newest deed.OperationID
		for range 4 {
			open = append(open, f.with(deed.StatusUncertain, sameEffect(op)).ID)
			f.equal("twins", ids(f.twinsOf(op)), newestOf(append(slices.Clone(open), newest)))
			newest = f.with(deed.StatusFailed, sameEffect(op)).ID
			f.equal("twins", ids(f.twinsOf(op)), newestOf(append(slices.Clone(open), newest)))
		}
	}},
	{"the named operation does not stand for its status", func(f *fixture) {
		delivered := func(op *deed.Operation) { op.DeliveredAt = f.clock.Now() }
		older := f.with(deed.StatusCommitted, delivered)
		op := f.with(deed.StatusCommitted, func(op *deed.Operation) { sameEffect(older)(op); delivered(op) })
		f.equal("twins", ids(f.twinsOf(op)), []deed.OperationID{older.ID})
	}},
	{"a newer equal in matter does not hide an equal in effect", func(f *fixture) {
		delivered := func(op *deed.Operation) { op.DeliveredAt = f.clock.Now() }
		op := f.operation()
		effect := f.with(deed.StatusCommitted, func(twin *deed.Operation) { twin.Fingerprint = op.Fingerprint; delivered(twin) })
		matter := f.with(deed.StatusCommitted, func(twin *deed.Operation) { twin.Matter = op.Matter; delivered(twin) })
		f.equal("twins", ids(f.twinsOf(op)), []deed.OperationID{matter.ID, effect.ID})
	}},
	{"several fingerprints and matters give each twin once", func(f *fixture) {
		first, second := f.with(deed.StatusExecuting, nil), f.with(deed.StatusExecuting, nil)
		view := f.load(deed.Scope{
			Tenant: tenant, Tool: first.Tool,
			Fingerprints: []deed.Fingerprint{first.Fingerprint, second.Fingerprint, first.Fingerprint},
			Matters:      []deed.Matter{second.Matter, first.Matter},
		})
		f.equal("twins", ids(view.Twins), []deed.OperationID{second.ID, first.ID})
	}},
	{"twins follow their operations through changes", func(f *fixture) {
		twin := f.with(deed.StatusExecuting, nil)
		op := f.operation()
		sameEffect(twin)(op)
		f.move(twin.ID, func(twin *deed.Operation) { toStatus(twin, deed.StatusCommitted, f.clock.Now()) })
		f.equal("committed", f.twinsOf(op)[0].Status, deed.StatusCommitted)
		f.move(twin.ID, func(twin *deed.Operation) { twin.Fingerprint, twin.Matter = "sha256:0", "" })
		f.equal("with another effect", f.twinsOf(op), []*deed.Operation(nil))
	}},
	{"a later operation is one that began an attempt of the matter since", func(f *fixture) {
		later := func(op *deed.Operation) bool {
			f.Helper()
			return f.load(deed.Scope{Tenant: tenant, ID: op.ID, Later: true}).Later
		}
		earlier := f.with(deed.StatusUncertain, nil)
		f.clock.Advance(time.Minute)
		op := f.with(deed.StatusUncertain, func(op *deed.Operation) { op.Matter = earlier.Matter })
		f.with(deed.StatusAuthorized, func(other *deed.Operation) { other.Matter = op.Matter })
		f.with(deed.StatusExecuting, func(other *deed.Operation) { other.Matter, other.Tool = op.Matter, "payments/capture" })
		f.with(deed.StatusExecuting, nil)
		f.equal("of the earlier one", later(earlier), true)
		f.equal("of the latest one", later(op), false)
		f.clock.Advance(time.Minute)
		f.move(earlier.ID, func(op *deed.Operation) {
			toStatus(op, deed.StatusExecuting, f.clock.Now())
			op.Attempts = append(op.Attempts, deed.Attempt{Number: 2, BegunAt: f.clock.Now()})
		})
		f.equal("after the earlier one began again", later(op), true)
		without := func(op *deed.Operation) { op.Matter = "" }
		nobodys := f.with(deed.StatusUncertain, without)
		f.equal("of none without a matter", later(nobodys), false)
		f.clock.Advance(time.Minute)
		f.with(deed.StatusExecuting, without)
		f.equal("of one without a matter", later(nobodys), true)
	}},
}

var refusedCases = []testCase{
	{"a conflict is found by the fingerprint that was refused", func(f *fixture) {
		holder := f.with(deed.StatusUncertain, nil)
		refused := deed.Fingerprint(digestOf("refused"))
		conflict := f.event(holder, deed.EventName(deed.Conflict))
		conflict.Fingerprint = refused
		other := f.event(holder, deed.EventName(deed.Denied))
		other.Fingerprint = refused
		f.append(deed.Durable, conflict, other)
		view := f.load(deed.Scope{Tenant: tenant, Tool: holder.Tool, Fingerprints: []deed.Fingerprint{"sha256:0", refused}})
		f.equal("refusals", view.Refused, []deed.Refusal{{Operation: without(holder), At: conflict.At}})
		f.equal("of another tool", f.load(deed.Scope{Tenant: tenant, Tool: "x/y", Fingerprints: []deed.Fingerprint{refused}}).Refused, []deed.Refusal(nil))
		f.equal("of another effect", f.load(deed.Scope{Tenant: tenant, Tool: holder.Tool, Fingerprints: []deed.Fingerprint{holder.Fingerprint}}).Refused, []deed.Refusal(nil))
	}},
	{"refusals come newest first, the newest of each operation", func(f *fixture) {
		first, second := f.with(deed.StatusUncertain, nil), f.with(deed.StatusUncertain, nil)
		refused := deed.Fingerprint(digestOf("refused"))
		var at []time.Time
		for _, holder := range []*deed.Operation{first, second, first} {
			f.clock.Advance(time.Minute)
			conflict := f.event(holder, deed.EventName(deed.Conflict))
			conflict.Fingerprint = refused
			f.append(deed.Batched, conflict)
			at = append(at, conflict.At)
		}
		view := f.transact(deed.Scope{Tenant: tenant, Tool: first.Tool, Fingerprints: []deed.Fingerprint{refused}}, deed.Change{})
		f.equal("refusals", view.Refused, []deed.Refusal{{Operation: without(first), At: at[2]}, {Operation: without(second), At: at[1]}})
	}},
}

var ruleCases = []testCase{
	{"other rules are those of unresolved operations of the tool", func(f *fixture) {
		for i, status := range deed.Statuses() {
			for range 2 {
				f.with(status, func(op *deed.Operation) {
					op.FingerprintRules = deed.Digest([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}[i])
				})
			}
		}
		f.with(deed.StatusUncertain, func(op *deed.Operation) { op.FingerprintRules, op.Reason = "abandoned", deed.ReasonAbandoned })
		f.with(deed.StatusExecuting, func(op *deed.Operation) { op.FingerprintRules, op.Tool = "another tool", "x/y" })
		usual := f.with(deed.StatusExecuting, nil)
		view := f.load(deed.Scope{Tenant: tenant, Tool: usual.Tool, FingerprintRules: usual.FingerprintRules})
		f.equal("other rules", view.OtherRules, []deed.Digest{"c", "d", "g"})
	}},
	{"the rules in force are found by the tool", func(f *fixture) {
		f.set(deed.ActiveSetting("payments/refund"), []byte(digestOf("r2")))
		f.equal("active", f.load(deed.Scope{Tenant: tenant, Tool: "payments/refund"}).Active, digestOf("r2"))
		f.equal("of another tool", f.load(deed.Scope{Tenant: tenant, Tool: "payments/capture"}).Active, deed.Digest(""))
	}},
}
