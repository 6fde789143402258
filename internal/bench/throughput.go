// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// Throughput is the real path beside the floor, medians over the rounds.
type Throughput struct {
	Callers int `json:"callers"`
	Calls   int `json:"calls_per_round"`
	// Rate is in operations per second, latencies are in microseconds.
	Rate      float64 `json:"operations_per_second"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	FloorRate float64 `json:"floor_operations_per_second"`
	FloorP50  float64 `json:"floor_p50_us"`
	FloorP99  float64 `json:"floor_p99_us"`
	// Cost is the processor time of one operation in microseconds: it tells
	// more than the rate on a machine that others use too.
	Cost      float64 `json:"processor_us"`
	FloorCost float64 `json:"floor_processor_us"`
	// OfFloor is the rate as a share of the floor's, Over the p50 as a multiple
	// of the floor's, Tail p99 as a multiple of p50: medians of the rounds'
	// own ratios.
	OfFloor float64 `json:"rate_of_floor"`
	Over    float64 `json:"p50_over_floor"`
	Tail    float64 `json:"p99_over_p50"`
}

// measureThroughput compares the real path and the floor, each round on fresh
// ledgers. The floor groups as many calls as there are callers.
func (r *run) measureThroughput(ctx context.Context, callers, calls int) (Throughput, error) {
	p, err := learn(ctx, r.file("pattern"))
	if err != nil {
		return Throughput{}, err
	}
	var rate, p50, p99, cost, floorRate, floorP50, floorP99, floorCost, share, over, tail []float64
	for round := range r.Rounds {
		r.say("guarded calls, %d callers, round %d of %d", callers, round+1, r.Rounds)
		real, bare, err := r.throughputRound(ctx, p, callers, calls)
		if err != nil {
			return Throughput{}, err
		}
		rate, floorRate = append(rate, real.rate()), append(floorRate, bare.rate())
		p50, floorP50 = append(p50, real.percentile(.5)), append(floorP50, bare.percentile(.5))
		p99, floorP99 = append(p99, real.percentile(.99)), append(floorP99, bare.percentile(.99))
		cost, floorCost = append(cost, real.cost()), append(floorCost, bare.cost())
		share = append(share, ratio(real.rate(), bare.rate()))
		over = append(over, ratio(real.percentile(.5), bare.percentile(.5)))
		tail = append(tail, ratio(real.percentile(.99), real.percentile(.5)))
	}
	return Throughput{
		Callers: callers, Calls: calls,
		Rate: median(rate), P50: median(p50), P99: median(p99),
		FloorRate: median(floorRate), FloorP50: median(floorP50), FloorP99: median(floorP99),
		Cost: median(cost), FloorCost: median(floorCost),
		OfFloor: median(share), Over: median(over), Tail: median(tail),
	}, nil
}

// turnsPerRound is how often the real path and the floor take turns within a
// round: a disturbance of the machine should fall on both.
const turnsPerRound = 20

// throughputRound records what the calls write, then runs them again, the real
// path and the floor in turns, each on an empty ledger.
func (r *run) throughputRound(ctx context.Context, p *pattern, callers, calls int) (real, bare sample, err error) {
	source, path, floorPath := r.file("recorded"), r.file("guarded"), r.file("floor")
	defer func() {
		for _, done := range []string{source, path, floorPath} {
			r.remove(done)
		}
	}()
	if err := r.record(ctx, source, calls); err != nil {
		return real, bare, err
	}
	f, err := openFloor(ctx, floorPath, source, p)
	if err != nil {
		return real, bare, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	g, err := openGuarded(ctx, path)
	if err != nil {
		return real, bare, err
	}
	defer func() { err = errors.Join(err, g.close(ctx)) }()
	r.pause()
	stop, err := r.profile(fmt.Sprintf("guarded-%d", callers))
	if err != nil {
		return real, bare, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	turn := max(1, calls/turnsPerRound/callers) * callers
	for from := 0; from < calls; from += turn {
		to := min(from+turn, calls)
		a, err := drive(ctx, callers, to-from, func(ctx context.Context, n int) error { return g.operate(ctx, "real", from+n) })
		if err != nil {
			return real, bare, err
		}
		b, err := f.run(ctx, callers, from, to)
		if err != nil {
			return real, bare, err
		}
		real.add(a)
		bare.add(b)
	}
	return real, bare, nil
}

// record writes the ledger that the floor writes again.
func (r *run) record(ctx context.Context, path string, calls int) error {
	g, err := openGuarded(ctx, path)
	if err != nil {
		return err
	}
	_, err = drive(ctx, callers, calls, func(ctx context.Context, n int) error { return g.operate(ctx, "real", n) })
	return errors.Join(err, g.close(ctx))
}

// Replays is how fast recorded answers are given again, with the decision
// event of each on its way to the disk.
type Replays struct {
	Callers int     `json:"callers"`
	HotKeys int     `json:"hot_keys"`
	Replays int     `json:"replays_per_round"`
	Rate    float64 `json:"replays_per_second"`
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	Cost    float64 `json:"processor_us"`
}

func (r *run) measureReplays(ctx context.Context) (result Replays, err error) {
	g, err := openGuarded(ctx, r.file("replay"))
	if err != nil {
		return Replays{}, err
	}
	defer func() { err = errors.Join(err, g.close(ctx)) }()
	r.say("replays: writing %d operations", r.HotKeys)
	if _, err := drive(ctx, callers, r.HotKeys, func(ctx context.Context, n int) error { return g.operate(ctx, "hot", n) }); err != nil {
		return Replays{}, err
	}
	var rate, p50, p99, cost []float64
	for round := range r.Rounds {
		r.say("replays, %d callers, round %d of %d", callers, round+1, r.Rounds)
		s, err := r.drive(ctx, "replay-64", callers, r.Replays, func(ctx context.Context, n int) error {
			return g.replay(ctx, "hot", scatter(n, r.HotKeys))
		})
		if err != nil {
			return Replays{}, err
		}
		rate, p50, p99 = append(rate, s.rate()), append(p50, s.percentile(.5)), append(p99, s.percentile(.99))
		cost = append(cost, s.cost())
	}
	return Replays{Callers: callers, HotKeys: r.HotKeys, Replays: r.Replays, Rate: median(rate), P50: median(p50), P99: median(p99), Cost: median(cost)}, nil
}

// scatter walks all numbers below size in an order that no cache likes.
func scatter(n, size int) int { return int(uint64(n) * 2654435761 % uint64(size)) }

// file names a new file in the run's folder.
func (r *run) file(kind string) string {
	r.files++
	return filepath.Join(r.folder, fmt.Sprintf("%s-%d.db", kind, r.files))
}
