// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// Size is the same work on a large ledger and on an empty one, one caller,
// medians of the rounds.
type Size struct {
	Operations        int     `json:"operations"`
	BytesPerOperation float64 `json:"bytes_per_operation"`
	// Claim is a guarded call from its claim to its settlement, Replay the
	// answer to a repeat; Old replays operations from everywhere in the ledger,
	// Replay the newest ones, as many as the empty ledger has too. In
	// microseconds.
	Claim       float64 `json:"claim_p50_us"`
	ClaimEmpty  float64 `json:"claim_empty_p50_us"`
	Replay      float64 `json:"replay_p50_us"`
	ReplayEmpty float64 `json:"replay_empty_p50_us"`
	Old         float64 `json:"old_replay_p50_us"`
	// The ratios are medians of the rounds' own.
	ClaimOver  float64 `json:"claim_over_empty"`
	ReplayOver float64 `json:"replay_over_empty"`
	OldOver    float64 `json:"old_replay_over_empty"`
	// FillRate is the rate at which the ledger was filled, with 64 callers.
	FillRate float64 `json:"fill_operations_per_second"`
	// Resident is the largest memory of this process in RAM while 64 callers
	// ran on the large ledger, in bytes; 0 where the system does not tell.
	Resident int64 `json:"resident_bytes"`
}

func (r *run) measureSize(ctx context.Context) (result Size, err error) {
	path := r.file("large")
	defer r.remove(path)
	result.Operations = r.Operations
	memory := watchMemory()
	fill, err := r.fill(ctx, path)
	result.Resident = memory.stop()
	if err != nil {
		return result, err
	}
	result.FillRate = fill.rate()
	if info, err := os.Stat(path); err == nil {
		result.BytesPerOperation = ratio(float64(info.Size()), float64(r.Operations))
	}
	large, err := openGuarded(ctx, path)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, large.close(ctx)) }()
	empty, err := openGuarded(ctx, r.file("empty"))
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, empty.close(ctx)) }()
	return result, r.compareSizes(ctx, large, empty, &result)
}

// fill writes the large ledger the way that callers would.
func (r *run) fill(ctx context.Context, path string) (s sample, err error) {
	r.say("large ledger: writing %d operations", r.Operations)
	g, err := openGuarded(ctx, path)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, g.close(ctx)) }()
	return drive(ctx, callers, r.Operations, func(ctx context.Context, n int) error { return g.operate(ctx, "old", n) })
}

// compareSizes lets the two ledgers take turns.
func (r *run) compareSizes(ctx context.Context, large, empty *guarded, result *Size) error {
	var claim, claimEmpty, replay, replayEmpty, old, claimOver, replayOver, oldOver []float64
	for round := range r.Rounds {
		r.say("large ledger beside an empty one, round %d of %d", round+1, r.Rounds)
		name := fmt.Sprintf("round%d", round)
		newest := func(g *guarded) func(context.Context, int) error {
			return func(ctx context.Context, n int) error { return g.replay(ctx, name, scatter(n, r.Probes)) }
		}
		begins := func(g *guarded) func(context.Context, int) error {
			return func(ctx context.Context, n int) error { return g.operate(ctx, name, n) }
		}
		anywhere := func(ctx context.Context, n int) error {
			return large.replay(ctx, "old", scatter(n+round*r.Probes, r.Operations))
		}
		a, b, err := r.turns(ctx, r.Probes, begins(large), begins(empty))
		if err != nil {
			return err
		}
		c, d, err := r.turns(ctx, 5*r.Probes, newest(large), newest(empty))
		if err != nil {
			return err
		}
		e, _, err := r.turns(ctx, r.Probes, anywhere, newest(empty))
		if err != nil {
			return err
		}
		claim, claimEmpty = append(claim, a.percentile(.5)), append(claimEmpty, b.percentile(.5))
		replay, replayEmpty = append(replay, c.percentile(.5)), append(replayEmpty, d.percentile(.5))
		old = append(old, e.percentile(.5))
		claimOver = append(claimOver, ratio(a.percentile(.5), b.percentile(.5)))
		replayOver = append(replayOver, ratio(c.percentile(.5), d.percentile(.5)))
		oldOver = append(oldOver, ratio(e.percentile(.5), d.percentile(.5)))
	}
	result.Claim, result.ClaimEmpty, result.ClaimOver = median(claim), median(claimEmpty), median(claimOver)
	result.Replay, result.ReplayEmpty, result.ReplayOver = median(replay), median(replayEmpty), median(replayOver)
	result.Old, result.OldOver = median(old), median(oldOver)
	return r.crowd(ctx, large, result)
}

// crowd runs 64 callers on the large ledger and watches the memory.
func (r *run) crowd(ctx context.Context, large *guarded, result *Size) error {
	r.say("large ledger: memory with %d callers", callers)
	memory := watchMemory()
	_, err := drive(ctx, callers, r.Grouped, func(ctx context.Context, n int) error { return large.operate(ctx, "crowd", n) })
	if err == nil {
		_, err = drive(ctx, callers, r.Grouped, func(ctx context.Context, n int) error {
			return large.replay(ctx, "old", scatter(n, r.Operations))
		})
	}
	result.Resident = max(result.Resident, memory.stop())
	return err
}

// turns makes count calls of each of two kinds, one caller, in short turns: a
// disturbance of the machine falls on both.
func (r *run) turns(ctx context.Context, count int, a, b func(context.Context, int) error) (first, second sample, err error) {
	const turn = 10
	for from := 0; from < count; from += turn {
		for _, side := range []struct {
			do  func(context.Context, int) error
			sum *sample
		}{{a, &first}, {b, &second}} {
			s, err := drive(ctx, 1, min(turn, count-from), func(ctx context.Context, n int) error { return side.do(ctx, from+n) })
			if err != nil {
				return first, second, err
			}
			side.sum.add(s)
		}
	}
	return first, second, nil
}

// memoryWatch samples the memory of this process until it is stopped.
type memoryWatch struct {
	end    chan struct{}
	result chan int64
}

func watchMemory() *memoryWatch {
	debug.FreeOSMemory()
	w := &memoryWatch{end: make(chan struct{}), result: make(chan int64)}
	go func() {
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		most := residentBytes()
		for {
			select {
			case <-ticker.C:
				most = max(most, residentBytes())
			case <-w.end:
				w.result <- max(most, residentBytes())
				return
			}
		}
	}()
	return w
}

func (w *memoryWatch) stop() int64 {
	close(w.end)
	return <-w.result
}
