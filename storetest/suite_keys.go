// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"

	"github.com/deed-run/deed"
)

var keyCases = []testCase{
	{"the first key that is known names the operation", func(f *fixture) {
		first, second := f.with(deed.StatusExecuting, nil), f.with(deed.StatusExecuting, nil)
		unknown := f.operation().Key
		view := f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{unknown, second.Key, first.Key}})
		f.equal("the operation", view.Operation, second)
		f.equal("the key found", view.Found, second.Key)
	}},
	{"an id goes before keys", func(f *fixture) {
		first, second := f.with(deed.StatusExecuting, nil), f.with(deed.StatusExecuting, nil)
		view := f.load(deed.Scope{Tenant: tenant, ID: first.ID, Keys: []deed.Key{second.Key}})
		f.equal("the operation", view.Operation, first)
		f.equal("the key found", view.Found, deed.Key{})
	}},
	{"family, actor and text tell keys apart, bytewise", func(f *fixture) {
		op := f.with(deed.StatusExecuting, func(op *deed.Operation) { op.Key.Actor = "support" })
		for _, edit := range []func(*deed.Key){
			func(k *deed.Key) { k.Family = deed.FamilyCreation },
			func(k *deed.Key) { k.Actor = "" },
			func(k *deed.Key) { k.Actor = "Support" },
			func(k *deed.Key) { k.Text = "R" + k.Text[1:] },
			func(k *deed.Key) { k.Text += " " },
			func(k *deed.Key) { k.Generation = 2 },
		} {
			key := op.Key
			edit(&key)
			if view := f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{key}}); view.Operation != nil {
				f.Errorf("%+v found the operation of %+v", key, op.Key)
			}
		}
		key := op.Key
		key.Provenance = deed.ProvenanceModel
		view := f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{key}})
		f.equal("another provenance", view.Found, op.Key)
	}},
	{"an alias names the operation as its key does", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		alias := deed.Key{Actor: "support", Family: deed.FamilyOperation, Text: "call-id:42:of-session-7", Generation: 1, Provenance: deed.ProvenanceCallID}
		f.transact(deed.Scope{Tenant: tenant, ID: op.ID}, deed.Change{Bind: []deed.Binding{{Key: alias, Operation: op.ID}}})
		view := f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{alias}})
		f.equal("the operation", view.Operation, op)
		f.equal("the key found", view.Found, alias)
	}},
	{"an alias may be bound in the change that puts its operation", func(f *fixture) {
		op := f.operation()
		alias := op.Key
		alias.Text = "k1_00000000000000000000000000"
		f.transact(deed.Scope{Tenant: tenant, Keys: []deed.Key{op.Key}}, deed.Change{
			Put: []*deed.Operation{op}, Bind: []deed.Binding{{Key: alias, Operation: op.ID}},
		})
		f.equal("the operation", f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{alias}}).Operation, op)
	}},
	{"binding a key again to its own operation changes nothing", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		again := op.Key
		again.Provenance = deed.ProvenanceModel
		f.transact(deed.Scope{Tenant: tenant, ID: op.ID}, deed.Change{Bind: []deed.Binding{{Key: again, Operation: op.ID}}})
		f.equal("the key found", f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{op.Key}}).Found, op.Key)
	}},
	{"a key that names another operation is refused with the whole change", func(f *fixture) {
		holder := f.with(deed.StatusExecuting, nil)
		thief, other := f.operation(), f.operation()
		thief.Key = holder.Key
		for name, wanted := range map[string]deed.Change{
			"by a new operation": {Put: []*deed.Operation{other, thief}},
			"by an alias":        {Put: []*deed.Operation{other}, Bind: []deed.Binding{{Key: holder.Key, Operation: other.ID}}},
		} {
			_, err := f.store.Transact(f.context(), deed.Scope{Tenant: tenant, ID: other.ID}, func(deed.View) (deed.Change, error) { return wanted, nil })
			if !errors.Is(err, deed.ErrKeyTaken) {
				f.Errorf("%s: err = %v, want ErrKeyTaken", name, err)
			}
			if f.get(other.ID) != nil || f.get(thief.ID) != nil {
				f.Errorf("%s: something was written", name)
			}
		}
		f.equal("the key still names", f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{holder.Key}}).Operation, holder)
	}},
}

var lineageCases = []testCase{
	{"a derived key finds its newest generation and the older ones in order", func(f *fixture) {
		generations := f.generations(3)
		key := generations[0].Key
		key.Generation = 0
		view := f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{key}, Lineage: true})
		f.equal("the newest", view.Operation, generations[2])
		f.equal("the key found", view.Found, generations[2].Key)
		f.equal("the older ones", view.Lineage, []*deed.Operation{generations[1], generations[0]})
	}},
	{"older generations are not loaded unasked", func(f *fixture) {
		generations := f.generations(2)
		view := f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{generations[1].Key}})
		f.equal("the older ones", view.Lineage, []*deed.Operation(nil))
	}},
	{"a generation can be named", func(f *fixture) {
		generations := f.generations(3)
		view := f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{generations[1].Key}, Lineage: true})
		f.equal("the second", view.Operation, generations[1])
		f.equal("the older ones", view.Lineage, []*deed.Operation{generations[0]})
	}},
	{"an operation named by id has the lineage of its own key", func(f *fixture) {
		generations := f.generations(2)
		view := f.load(deed.Scope{Tenant: tenant, ID: generations[1].ID, Lineage: true})
		f.equal("the older ones", view.Lineage, []*deed.Operation{generations[0]})
	}},
	{"an operation of the lineage may be put", func(f *fixture) {
		generations := f.generations(2)
		scope := deed.Scope{Tenant: tenant, ID: generations[1].ID, Lineage: true}
		_, err := f.store.Transact(f.context(), scope, func(view deed.View) (deed.Change, error) {
			next := copyOperation(view.Lineage[0])
			next.Version++
			next.SupersededBy = view.Operation.ID
			return deed.Change{Put: []*deed.Operation{next}}, nil
		})
		if err != nil {
			f.Fatal(err)
		}
		f.equal("superseded by", f.get(generations[0].ID).SupersededBy, generations[1].ID)
	}},
}

// generations stores n operations under one derived key.
func (f *fixture) generations(n int) []*deed.Operation {
	f.Helper()
	var all []*deed.Operation
	for generation := 1; generation <= n; generation++ {
		all = append(all, f.with(deed.StatusFailed, func(op *deed.Operation) {
			op.Key = deed.Key{
				Family: deed.FamilyOperation, Text: "k1_ABCDEFGHIJKLMNOPQRSTUVWXYZ", Generation: generation, Provenance: deed.ProvenanceDerived,
			}
		}))
	}
	return all
}
