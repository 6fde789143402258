// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/deed-run/deed"
)

const racers = 50

// race runs do for each racer at once.
func race(do func(i int)) {
	var ready, done sync.WaitGroup
	gun := make(chan struct{})
	for i := range racers {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-gun
			do(i)
		})
	}
	ready.Wait()
	close(gun)
	done.Wait()
}

var errThere = errors.New("already there")

var concurrencyCases = []testCase{
	{"of fifty who claim one key exactly one begins, and all see its operation", func(f *fixture) {
		var candidates []*deed.Operation
		for range racers {
			op := f.operation()
			op.Key = deed.Key{Family: deed.FamilyOperation, Text: "the-one-and-only-key", Generation: 1, Provenance: deed.ProvenanceRuntime}
			candidates = append(candidates, op)
		}
		var mu sync.Mutex
		var winners, seen []deed.OperationID
		race(func(i int) {
			scope := deed.Scope{Tenant: tenant, Keys: []deed.Key{candidates[0].Key}}
			view, err := f.store.Transact(f.context(), scope, func(view deed.View) (deed.Change, error) {
				if view.Operation != nil {
					return deed.Change{}, errThere
				}
				return deed.Change{Put: []*deed.Operation{candidates[i]}, Events: []deed.Event{{ID: eventID(i), Tenant: tenant, Name: deed.EventBegun, At: view.Now}}}, nil
			})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				winners = append(winners, candidates[i].ID)
			case err == errThere:
				seen = append(seen, view.Operation.ID)
			default:
				f.Error(err)
			}
		})
		if len(winners) != 1 || len(seen) != racers-1 {
			f.Fatalf("%d won, %d saw", len(winners), len(seen))
		}
		for _, id := range seen {
			if id != winners[0] {
				f.Errorf("a loser saw %s, the winner is %s", id, winners[0])
			}
		}
		f.equal("events", len(f.events(deed.EventQuery{Tenant: tenant})), 1)
	}},
	{"of fifty equal effects under fifty keys exactly one begins", func(f *fixture) {
		var candidates []*deed.Operation
		for range racers {
			op := f.operation()
			op.Fingerprint, op.Matter = "sha256:same", ""
			candidates = append(candidates, op)
		}
		var mu sync.Mutex
		won := 0
		race(func(i int) {
			op := candidates[i]
			scope := deed.Scope{Tenant: tenant, Keys: []deed.Key{op.Key}, Tool: op.Tool, Fingerprints: []deed.Fingerprint{op.Fingerprint}}
			_, err := f.store.Transact(f.context(), scope, func(view deed.View) (deed.Change, error) {
				if len(view.Twins) > 0 {
					return deed.Change{}, errThere
				}
				return deed.Change{Put: []*deed.Operation{op}}, nil
			})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if err != errThere {
				f.Error(err)
			}
		})
		f.equal("begun", won, 1)
	}},
	{"no change of one operation is lost", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		race(func(int) {
			_, err := f.store.Transact(f.context(), deed.Scope{Tenant: tenant, ID: op.ID}, func(view deed.View) (deed.Change, error) {
				next := copyOperation(view.Operation)
				next.Version++
				next.Message += "."
				return deed.Change{Put: []*deed.Operation{next}}, nil
			})
			if err != nil {
				f.Error(err)
			}
		})
		got := f.get(op.ID)
		f.equal("version", got.Version, int64(1+racers))
		f.equal("changes", len(got.Message), racers)
	}},
	{"the failure of one change leaves those beside it alone", func(f *fixture) {
		holder := f.with(deed.StatusExecuting, nil)
		var candidates []*deed.Operation
		for i := range racers {
			op := f.operation()
			if i%5 == 0 {
				op.Key = holder.Key
			}
			candidates = append(candidates, op)
		}
		race(func(i int) {
			op, first := candidates[i], &deed.Operation{}
			*first = *op
			_, err := f.store.Transact(f.context(), deed.Scope{Tenant: tenant, ID: op.ID}, func(deed.View) (deed.Change, error) {
				return deed.Change{Put: []*deed.Operation{op}}, nil
			})
			if errors.Is(err, deed.ErrKeyTaken) != (i%5 == 0) {
				f.Errorf("%d: err = %v", i, err)
			}
		})
		for i, op := range candidates {
			if there := f.get(op.ID) != nil; there == (i%5 == 0) {
				f.Errorf("%d: there is %v", i, there)
			}
		}
	}},
	{"what was acknowledged is in every later load", func(f *fixture) {
		candidates := make([]*deed.Operation, racers)
		for i := range candidates {
			candidates[i] = f.operation()
		}
		race(func(i int) {
			op := candidates[i]
			for version := int64(1); version <= 10; version++ {
				next := copyOperation(op)
				next.Version = version
				if _, err := f.store.Transact(f.context(), deed.Scope{Tenant: tenant, ID: op.ID}, func(deed.View) (deed.Change, error) {
					return deed.Change{Put: []*deed.Operation{next}}, nil
				}); err != nil {
					f.Error(err)
					return
				}
				view, err := f.store.Load(f.context(), deed.Scope{Tenant: tenant, Keys: []deed.Key{op.Key}})
				if err != nil || view.Operation == nil || view.Operation.Version != version {
					f.Error(fmt.Errorf("after version %d: %v, %v", version, view.Operation, err))
					return
				}
			}
		})
	}},
	{"a setting that all make is made once", func(f *fixture) {
		var mu sync.Mutex
		values := map[string]int{}
		race(func(i int) {
			value, err := f.store.Setting(f.context(), "secret/pepper", func(old []byte) []byte {
				if old != nil {
					return nil
				}
				return fmt.Appendf(nil, "made by %d", i)
			})
			if err != nil {
				f.Error(err)
			}
			mu.Lock()
			values[string(value)]++
			mu.Unlock()
		})
		if len(values) != 1 {
			f.Errorf("the values are %v", values)
		}
	}},
}
