// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import "fmt"

// Target is a bound and what was measured against it.
type Target struct {
	Name string `json:"name"`
	// Bound and Measured are for people, with their units.
	Bound    string `json:"bound"`
	Measured string `json:"measured"`
	Met      bool   `json:"met"`
}

// The bounds.
const (
	leastOfFloor   = 0.75
	mostOverFloor  = 1.3
	mostTail       = 10
	leastReplays   = 30000
	mostOverEmpty  = 1.3
	mostResident   = 150 << 20
	mostOverCopier = 1.3
)

// targets judges what the report has; parts that were left out have none.
func (r Report) targets() []Target {
	var list []Target
	least := func(name string, measured, bound float64, format string) {
		list = append(list, Target{name, "at least " + fmt.Sprintf(format, bound), fmt.Sprintf(format, measured), measured >= bound})
	}
	most := func(name string, measured, bound float64, format string) {
		list = append(list, Target{name, "at most " + fmt.Sprintf(format, bound), fmt.Sprintf(format, measured), measured <= bound})
	}
	for _, t := range r.Throughput {
		if t.Callers == 1 {
			most("guarded call, 1 caller: p50 beside the floor", t.Over, mostOverFloor, "%.2fx")
			continue
		}
		least("guarded calls, 64 callers: rate beside the floor", t.OfFloor*100, leastOfFloor*100, "%.0f %%")
		most("guarded calls, 64 callers: p99 beside p50", t.Tail, mostTail, "%.1fx")
	}
	if r.Replays != nil {
		least("replays, 64 callers: per second", r.Replays.Rate, leastReplays, "%.0f")
	}
	if s := r.Size; s != nil {
		most("guarded call on the large ledger: p50 beside an empty one", s.ClaimOver, mostOverEmpty, "%.2fx")
		most("replay on the large ledger: p50 beside an empty one", s.ReplayOver, mostOverEmpty, "%.2fx")
		if s.Resident > 0 {
			most("memory with 64 callers", float64(s.Resident)/(1<<20), mostResident>>20, "%.0f MiB")
		}
	}
	copier, gateway := r.way(wayRelay), r.way(wayDeed)
	if copier != nil && gateway != nil {
		bound := mostOverCopier * copier.ReadAdded
		most("MCP, read-only call: p50 added", gateway.ReadAdded/1000, bound/1000, "%.2f ms")
		if floor := r.singleFloor(); floor > 0 {
			most("MCP, mutating call: p50 added", gateway.MutateAdded/1000, (bound+floor)/1000, "%.2f ms")
		}
	}
	return list
}

func (r Report) way(name string) *Overhead {
	for i := range r.Overhead {
		if r.Overhead[i].Way == name && r.Overhead[i].Absent == "" {
			return &r.Overhead[i]
		}
	}
	return nil
}

// singleFloor is the p50 of the floor with one caller.
func (r Report) singleFloor() float64 {
	for _, t := range r.Throughput {
		if t.Callers == 1 {
			return t.FloorP50
		}
	}
	return 0
}
