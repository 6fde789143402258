// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/deed-run/deed"
)

// view loads what the scope asks for.
func (m *Memory) view(scope deed.Scope) deed.View {
	view := deed.View{Now: m.clock.Now().UTC().Truncate(time.Microsecond)}
	named := m.named(scope, &view)
	if named != nil {
		view.Operation = copyOperation(named)
		if scope.Lineage {
			view.Lineage = m.lineage(scope.Tenant, view)
		}
		if scope.Later {
			view.Later = m.later(named)
		}
	}
	view.Budgets = m.budgets(scope, view.Now)
	if scope.Consent != "" {
		view.ConsentBy = m.consents[consentName{scope.Tenant, scope.Consent}]
	}
	if scope.Tool == "" {
		return view
	}
	view.Twins = m.twins(scope, view)
	view.Refused = m.refused(scope)
	view.OtherRules = m.otherRules(scope)
	view.Active = deed.Digest(m.settings[deed.ActiveSetting(scope.Tool)])
	return view
}

// named finds the operation that the scope names by id or key.
func (m *Memory) named(scope deed.Scope, view *deed.View) *deed.Operation {
	if scope.ID != "" {
		return m.operations[identifier{scope.Tenant, scope.ID}]
	}
	for _, key := range scope.Keys {
		at, known := m.keys[bindingOf(scope.Tenant, key)]
		if key.Generation == 0 {
			at, known = m.newest(scope.Tenant, key)
		}
		if known {
			view.Found = at.key
			return m.operations[identifier{scope.Tenant, at.id}]
		}
	}
	return nil
}

// newest finds the newest generation of a key.
func (m *Memory) newest(tenant deed.Tenant, key deed.Key) (bound, bool) {
	var best bound
	found := false
	for b, at := range m.keys {
		if b.generation = 0; b != (binding{tenant, key.Actor, key.Family, key.Text, 0}) {
			continue
		}
		if !found || at.key.Generation > best.key.Generation {
			best, found = at, true
		}
	}
	return best, found
}

// lineage returns the older generations of the key that named the operation,
// or of its own key when its id did.
func (m *Memory) lineage(tenant deed.Tenant, view deed.View) []*deed.Operation {
	key := view.Found
	if key.Text == "" {
		key = view.Operation.Key
	}
	var older []*deed.Operation
	for generation := key.Generation - 1; generation >= 0; generation-- {
		key.Generation = generation
		if at, known := m.keys[bindingOf(tenant, key)]; known {
			older = append(older, copyOperation(m.operations[identifier{tenant, at.id}]))
		}
	}
	return older
}

// later reports whether another operation of the same matter has begun an
// attempt since this one last did.
func (m *Memory) later(op *deed.Operation) bool {
	current := op.Current()
	if current == nil {
		return false
	}
	for _, other := range m.operations {
		if other.Tenant != op.Tenant || other.Tool != op.Tool || other.Matter != op.Matter || other.ID == op.ID {
			continue
		}
		if a := other.Current(); a != nil && !a.BegunAt.Before(current.BegunAt) {
			return true
		}
	}
	return false
}

// twins returns, for each fingerprint and each matter of the scope, every
// operation that is open and the newest of each status of the rest.
func (m *Memory) twins(scope deed.Scope, view deed.View) []*deed.Operation {
	picked := map[deed.OperationID]*deed.Operation{}
	pick := func(equal func(*deed.Operation) bool) {
		newest := map[deed.Status]*deed.Operation{}
		for _, op := range m.operations {
			itself := view.Operation != nil && op.ID == view.Operation.ID
			if itself || op.Tenant != scope.Tenant || op.Tool != scope.Tool || !equal(op) {
				continue
			}
			if open(op) {
				picked[op.ID] = op
			} else if best := newest[op.Status]; best == nil || op.ID > best.ID {
				newest[op.Status] = op
			}
		}
		for _, op := range newest {
			picked[op.ID] = op
		}
	}
	for _, fingerprint := range scope.Fingerprints {
		pick(func(op *deed.Operation) bool { return op.Fingerprint == fingerprint })
	}
	for _, matter := range scope.Matters {
		if matter != "" {
			pick(func(op *deed.Operation) bool { return op.Matter == matter })
		}
	}
	var twins []*deed.Operation
	for _, op := range picked {
		twins = append(twins, light(op))
	}
	slices.SortFunc(twins, newestFirst)
	return twins
}

// open reports whether an operation is unresolved, pending or undelivered.
func open(op *deed.Operation) bool {
	switch op.State() {
	case deed.StateAwaitingApproval, deed.StateAuthorized, deed.StateExecuting, deed.StateAwaitingInput, deed.StateUncertain:
		return true
	case deed.StateCommitted:
		return !op.Delivered()
	}
	return false
}

func newestFirst(a, b *deed.Operation) int { return cmp.Compare(b.ID, a.ID) }

// refused lists the newest conflict of each operation that refused one of the
// fingerprints.
func (m *Memory) refused(scope deed.Scope) []deed.Refusal {
	var refusals []deed.Refusal
	listed := map[deed.OperationID]bool{}
	for _, event := range slices.Backward(m.events) {
		if event.Name != deed.EventName(deed.Conflict) || event.Tenant != scope.Tenant || event.Tool != scope.Tool {
			continue
		}
		op := m.operations[identifier{scope.Tenant, event.OperationID}]
		if op == nil || listed[op.ID] || !slices.Contains(scope.Fingerprints, event.Fingerprint) {
			continue
		}
		listed[op.ID] = true
		refusals = append(refusals, deed.Refusal{Operation: light(op), At: event.At})
	}
	return refusals
}

// otherRules returns the fingerprint rules that unresolved operations of the
// tool carry, without the scope's, in order.
func (m *Memory) otherRules(scope deed.Scope) []deed.Digest {
	var rules []deed.Digest
	for _, op := range m.operations {
		if op.Tenant != scope.Tenant || op.Tool != scope.Tool || op.FingerprintRules == scope.FingerprintRules {
			continue
		}
		switch op.State() {
		case deed.StateExecuting, deed.StateAwaitingInput, deed.StateUncertain:
			rules = append(rules, op.FingerprintRules)
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// inView returns every operation that a view holds, once or more.
func inView(view deed.View) []*deed.Operation {
	all := slices.Concat(view.Lineage, view.Twins)
	if view.Operation != nil {
		all = append(all, view.Operation)
	}
	for _, refusal := range view.Refused {
		all = append(all, refusal.Operation)
	}
	return all
}
