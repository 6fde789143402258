// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deed-run/deed/faultkit/caller"
)

// Overhead is what one way to a tool server costs, medians of the rounds, in
// microseconds. Added is what it adds to the p50 of the direct way.
type Overhead struct {
	Way string `json:"way"`
	// Absent says why the way was not measured; then everything else is 0.
	Absent       string  `json:"absent,omitempty"`
	Read         float64 `json:"read_p50_us"`
	ReadTail     float64 `json:"read_p99_us"`
	ReadAdded    float64 `json:"read_added_p50_us"`
	Mutate       float64 `json:"mutate_p50_us"`
	MutateTail   float64 `json:"mutate_p99_us"`
	MutateAdded  float64 `json:"mutate_added_p50_us"`
	reads, adds  []float64
	tails        []float64
	mutates      []float64
	mutateAdds   []float64
	mutatesTails []float64
}

// measureOverhead sends the same calls along every way, in turns of a few
// requests, each way to a server of its own.
func (r *run) measureOverhead(ctx context.Context) (result []Overhead, err error) {
	r.say("MCP: starting servers and gateways")
	ways, err := r.openWays(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeWays(ways)) }()
	result = make([]Overhead, len(ways))
	for i, w := range ways {
		result[i].Way = w.name
		// The first calls start processes, learn tools and warm caches.
		for n := range 20 {
			for _, kind := range []func(int) caller.Call{lookUp, charge} {
				if err := send(ctx, w, kind(-1-n)); err != nil {
					return nil, err
				}
			}
		}
	}
	for round := range r.Rounds {
		r.say("MCP, round %d of %d", round+1, r.Rounds)
		if err := r.overheadRound(ctx, ways, round, result); err != nil {
			return nil, err
		}
	}
	for i := range result {
		result[i].conclude()
	}
	if len(r.MCPProxy) == 0 {
		result = append(result, Overhead{Way: wayProxy, Absent: "not named; see --mcp-proxy"})
	}
	return result, nil
}

func (r *run) overheadRound(ctx context.Context, ways []way, round int, result []Overhead) error {
	r.pause()
	for k, kind := range []func(int) caller.Call{lookUp, charge} {
		samples := make([]sample, len(ways))
		const turn = 20
		for from := 0; from < r.Requests; from += turn {
			for i, w := range ways {
				s, err := drive(ctx, 1, min(turn, r.Requests-from), func(ctx context.Context, n int) error {
					return send(ctx, w, kind(round*r.Requests+from+n))
				})
				if err != nil {
					return err
				}
				samples[i].add(s)
			}
		}
		direct := samples[0].percentile(.5)
		for i := range ways {
			p50, p99 := samples[i].percentile(.5), samples[i].percentile(.99)
			o := &result[i]
			if k == 0 {
				o.reads, o.tails, o.adds = append(o.reads, p50), append(o.tails, p99), append(o.adds, p50-direct)
			} else {
				o.mutates, o.mutatesTails, o.mutateAdds = append(o.mutates, p50), append(o.mutatesTails, p99), append(o.mutateAdds, p50-direct)
			}
		}
	}
	return nil
}

func (o *Overhead) conclude() {
	o.Read, o.ReadTail, o.ReadAdded = median(o.reads), median(o.tails), median(o.adds)
	o.Mutate, o.MutateTail, o.MutateAdded = median(o.mutates), median(o.mutatesTails), median(o.mutateAdds)
}

// lookUp is a call of a tool that says it only reads.
func lookUp(n int) caller.Call {
	return caller.Call{Tool: "pay.get", Arguments: json.RawMessage(fmt.Sprintf(`{"order_id":"order-%d"}`, n))}
}

// charge is a call of a tool that changes something, with a key that servers
// without deed ignore.
func charge(n int) caller.Call {
	return caller.Call{
		Tool:      "pay.charge",
		Arguments: json.RawMessage(fmt.Sprintf(`{"order_id":"order-%d","amount":%d,"currency":"EUR"}`, n, 100+(n+1000)%900)),
		Meta:      map[string]any{"deed/idempotency-key": fmt.Sprintf("bench-charge-%09d", n)},
	}
}

func send(ctx context.Context, w way, call caller.Call) error {
	result, err := caller.CallTool(ctx, w.session, call)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", call.Tool, w.name, err)
	}
	if result.IsError {
		return fmt.Errorf("%s of %s: the tool answered with an error: %q", call.Tool, w.name, result.Texts)
	}
	return nil
}
