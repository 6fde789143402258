// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
)

// guardedCalls compares guarded operations with the floor, and with DBOS
// Transact running one step for each workflow id, at several numbers of callers.
func (r *postgresRun) guardedCalls(ctx context.Context) error {
	if len(r.DBOS) == 0 {
		r.absent("DBOS Transact: not named; scripts/bench builds test/peers/dbos")
	}
	for _, callers := range []int{1, 16, 64, 256} {
		calls := r.Calls
		if callers == 1 {
			calls = max(1, r.Calls/4)
		}
		var own, bare []sample
		var peers []float64
		var peer peerResult
		for round := range r.PostgresOptions.Rounds {
			r.say("guarded calls, %d callers, round %d of %d", callers, round+1, r.PostgresOptions.Rounds)
			real, floor, err := r.guardedRound(ctx, callers, calls)
			if err != nil {
				return fmt.Errorf("guarded calls: %w", err)
			}
			own, bare = append(own, real), append(bare, floor)
			if len(r.DBOS) > 0 && callers <= 64 {
				if peer, err = r.dbosRound(ctx, callers, max(1, calls/8)); err != nil {
					return fmt.Errorf("DBOS: %w", err)
				}
				peers = append(peers, peer.Rate)
			}
		}
		floors := r.line("floor: two statements", callers, bare)
		rates := r.line("guarded call", callers, own)
		share := r.beside("floor", rates, floors)
		switch callers {
		case 1:
			r.least("guarded calls, 1 caller: rate beside the floor", share, 0.85)
		case 64, 256:
			r.least(fmt.Sprintf("guarded calls, %d callers: rate beside the floor", callers), share, 2)
		}
		if len(peers) == 0 {
			continue
		}
		r.report.Lines = append(r.report.Lines, PostgresLine{Name: "DBOS Transact: one step", Callers: callers, Rate: median(peers), P50: peer.P50, P99: peer.P99})
		if callers == 64 {
			r.least("guarded calls, 64 callers: rate beside DBOS Transact", ratio(median(rates), median(peers)), 10)
		}
	}
	return nil
}

// guardedRound lets both take turns, each on a database of its own.
func (r *postgresRun) guardedRound(ctx context.Context, callers, calls int) (real, bare sample, err error) {
	name, address, err := r.database(ctx)
	if err != nil {
		return real, bare, err
	}
	g, err := openOnPostgres(ctx, address)
	if err != nil {
		return real, bare, err
	}
	f, err := openPostgresFloor(ctx, address, callers)
	if err != nil {
		return real, bare, errors.Join(err, g.close(ctx))
	}
	if err := r.rest(ctx); err != nil {
		return real, bare, err
	}
	turn := max(1, calls/4/callers) * callers
	for from := 0; from < calls && err == nil; from += turn {
		var a, b sample
		count := min(turn, calls-from)
		if a, err = drive(ctx, callers, count, func(ctx context.Context, n int) error { return g.operate(ctx, "real", from+n) }); err != nil {
			break
		}
		b, err = drive(ctx, callers, count, func(ctx context.Context, n int) error { return f.operate(ctx, "bare", from+n) })
		real.add(a)
		bare.add(b)
	}
	f.close()
	return real, bare, errors.Join(err, g.close(ctx), r.drop(ctx, name))
}

// dbosRound runs the peer as a process on a database of its own.
func (r *postgresRun) dbosRound(ctx context.Context, callers, calls int) (peerResult, error) {
	name, _, err := r.database(ctx)
	if err != nil {
		return peerResult{}, err
	}
	args := append(r.DBOS[1:len(r.DBOS):len(r.DBOS)], "--database", r.cluster.URL(name), "--callers", strconv.Itoa(callers), "--calls", strconv.Itoa(calls))
	command := exec.CommandContext(ctx, r.DBOS[0], args...)
	out, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return peerResult{}, err
	}
	result, err := readPeer(out)
	return result, errors.Join(err, r.drop(ctx, name))
}

// postgresReplays compares replays with the floor's rate at 64 callers.
func (r *postgresRun) postgresReplays(ctx context.Context) (err error) {
	name, address, err := r.database(ctx)
	if err != nil {
		return err
	}
	g, err := openOnPostgres(ctx, address)
	if err != nil {
		return err
	}
	hot := r.Calls
	if _, err = drive(ctx, callers, hot, func(ctx context.Context, n int) error { return g.operate(ctx, "hot", n) }); err != nil {
		return errors.Join(err, g.close(ctx))
	}
	var samples []sample
	for round := range r.PostgresOptions.Rounds {
		r.say("replays, %d callers, round %d of %d", callers, round+1, r.PostgresOptions.Rounds)
		var s sample
		s, err = drive(ctx, callers, 2*r.Calls, func(ctx context.Context, n int) error { return g.replay(ctx, "hot", scatter(n, hot)) })
		if err != nil {
			return errors.Join(err, g.close(ctx))
		}
		samples = append(samples, s)
	}
	rates := r.line("replay", callers, samples)
	for _, l := range r.report.Lines {
		if l.Callers == callers && l.Name == "floor: two statements" {
			share := r.beside("floor", rates, repeated(l.Rate, len(rates)))
			r.least("replays, 64 callers: rate beside the floor", share, 3)
		}
	}
	return errors.Join(g.close(ctx), r.drop(ctx, name))
}

func repeated(value float64, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = value
	}
	return list
}
