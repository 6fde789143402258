// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Command dbos runs workflows of one step each under DBOS Transact, one
// workflow for each key, and prints how fast that went as one line of JSON. It
// is a peer of deed bench and no part of deed: it has a module of its own, so
// that nobody else depends on DBOS.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgxpool"
)

// charge is the workflow: one step, which does nothing.
func charge(ctx dbos.Context, order string) (string, error) {
	return dbos.RunAsStep(ctx, func(context.Context) (string, error) { return "ch_" + order, nil })
}

func main() {
	database := flag.String("database", "", "URL of a PostgreSQL database")
	callers := flag.Int("callers", 1, "callers at the same time")
	calls := flag.Int("calls", 100, "workflows")
	flag.Parse()
	if err := run(*database, *callers, *calls); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(database string, callers, calls int) error {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(database)
	if err != nil {
		return err
	}
	config.MaxConns = int32(min(96, callers+8))
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	d, err := dbos.NewContext(ctx, dbos.Config{AppName: "bench", SystemDBPool: pool, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	dbos.RegisterWorkflow(d, charge)
	if err := dbos.Launch(d); err != nil {
		return err
	}
	defer dbos.Shutdown(d, 10*time.Second)
	var mu sync.Mutex
	var latencies []time.Duration
	var failed error
	var all sync.WaitGroup
	began := time.Now()
	for caller := range callers {
		all.Go(func() {
			for n := caller; n < calls; n += callers {
				start := time.Now()
				order := fmt.Sprintf("order-%07d", n)
				handle, err := dbos.RunWorkflow(d, charge, order, dbos.WithWorkflowID("pay-"+order))
				if err == nil {
					_, err = handle.GetResult()
				}
				mu.Lock()
				latencies = append(latencies, time.Since(start))
				if err != nil {
					failed = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	if failed != nil {
		return failed
	}
	slices.Sort(latencies)
	at := func(share float64) float64 {
		return float64(latencies[int(share*float64(len(latencies)-1))].Microseconds())
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"per_second": float64(calls) / took.Seconds(), "p50_us": at(.5), "p99_us": at(.99),
	})
}
