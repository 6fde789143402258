// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/test/pgcluster"
)

// PostgresOptions say what is measured on a PostgreSQL that the run starts
// itself. The zero value measures everything that needs no peer.
type PostgresOptions struct {
	// Dir is where the cluster is made; see Options.Dir.
	Dir string
	// Program is the path of deed, whose gateway is measured as a process.
	Program string
	// Only names the parts to run, of PostgresParts; empty means all.
	Only []string
	// Rounds is how often each comparison is repeated; the median counts.
	Rounds int
	// Calls is the number of calls per round with 64 callers and more; one
	// caller makes a quarter of them.
	Calls int
	// Rows is the number of operations in the large ledger; 0 leaves it out.
	Rows int
	// DBOS is the command of the peer test/peers/dbos; empty leaves it out.
	DBOS []string
	// Restate is the URL of a Restate server's ingress, with the service of
	// test/peers/restate; empty leaves it out.
	Restate string
	// Progress is told what is being done; nil is silent.
	Progress io.Writer
}

func (o PostgresOptions) withDefaults() PostgresOptions {
	orDefault(&o.Rounds, 3)
	orDefault(&o.Calls, 6400)
	return o
}

// PostgresReport is everything that a run measured, medians over its rounds.
type PostgresReport struct {
	Machine Machine        `json:"machine"`
	Lines   []PostgresLine `json:"lines"`
	Targets []Target       `json:"targets"`
	// Absent names what was not measured, and why.
	Absent []string `json:"absent,omitempty"`
}

// PostgresLine is one load. Latencies are in microseconds.
type PostgresLine struct {
	Name    string  `json:"name"`
	Callers int     `json:"callers"`
	Rate    float64 `json:"per_second"`
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	// OfPeer is the median of the rounds' ratios to the rate of Peer.
	Peer   string  `json:"peer,omitempty"`
	OfPeer float64 `json:"rate_of_peer,omitempty"`
}

// PostgresParts lists what PostgresOptions.Only may name.
func PostgresParts() []string { return []string{PartGuarded, PartReplay, "http", "gateways", PartSize} }

// postgresRun is one run.
type postgresRun struct {
	PostgresOptions
	run
	cluster *pgcluster.Cluster
	report  PostgresReport
	made    int
}

// RunPostgres starts a cluster, measures and reports; the cluster is removed at
// the end. A missed target is no error.
func RunPostgres(ctx context.Context, o PostgresOptions) (report PostgresReport, err error) {
	o = o.withDefaults()
	for _, part := range o.Only {
		if !slices.Contains(PostgresParts(), part) {
			return PostgresReport{}, fmt.Errorf("there is no part %q on PostgreSQL; nothing was measured; the parts are %v", part, PostgresParts())
		}
	}
	dir, err := diskFolder(o.Dir)
	if err != nil {
		return PostgresReport{}, err
	}
	folder, err := os.MkdirTemp(dir, "deed-bench-")
	if err != nil {
		return PostgresReport{}, fmt.Errorf("making a folder for a cluster: %w; nothing was measured; name another with --dir", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := os.Chmod(folder, 0o755); err != nil {
		return PostgresReport{}, err
	}
	r := &postgresRun{PostgresOptions: o}
	r.run.Options = Options{}.withDefaults()
	if o.Progress != nil {
		r.run.Progress = o.Progress
	}
	r.say("starting PostgreSQL in %s", folder)
	r.cluster, err = pgcluster.Start(folder, "max_wal_size=8GB", "shared_buffers=512MB", "max_connections=400")
	if err != nil {
		return PostgresReport{}, err
	}
	defer func() { err = errors.Join(err, r.cluster.Stop()) }()
	r.report.Machine = machine(folder)
	for i, part := range []func(context.Context) error{r.guardedCalls, r.postgresReplays, r.overHTTP, r.gateways, r.largeLedger} {
		if name := PostgresParts()[i]; len(o.Only) > 0 && !slices.Contains(o.Only, name) {
			continue
		} else if err := part(ctx); err != nil {
			return r.report, fmt.Errorf("measuring %s: %w", name, err)
		}
	}
	return r.report, nil
}

// database makes an empty one and returns its address.
func (r *postgresRun) database(ctx context.Context) (name, address string, err error) {
	r.made++
	name = fmt.Sprintf("bench_%d", r.made)
	address, err = r.cluster.Database(ctx, name)
	return name, address, err
}

// drop removes a database that is done with, and writes out what it left.
func (r *postgresRun) drop(ctx context.Context, name string) error {
	return r.cluster.Exec(ctx, "postgres", `DROP DATABASE `+pgx.Identifier{name}.Sanitize()+` WITH (FORCE)`)
}

// rest lets the server write out what it still has, so that no load pays for
// the one before it.
func (r *postgresRun) rest(ctx context.Context) error {
	runtime.GC()
	return r.cluster.Exec(ctx, "postgres", `CHECKPOINT`)
}

// onPostgres is a Runtime on a ledger in PostgreSQL.
type onPostgres struct {
	guarded
	store *postgres.Ledger
}

func openOnPostgres(ctx context.Context, address string) (*onPostgres, error) {
	store, err := postgres.Open(ctx, address, postgres.Options{})
	if err != nil {
		return nil, err
	}
	rt, err := deed.New(deed.Options{Store: store, Policy: rules(), Worker: "bench"})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &onPostgres{guarded: guarded{runtime: rt}, store: store}, nil
}

func (g *onPostgres) close(ctx context.Context) error {
	return errors.Join(g.runtime.Close(ctx), g.store.Close())
}

// line adds medians of samples to the report and returns their rates.
func (r *postgresRun) line(name string, callers int, samples []sample) []float64 {
	var rate, p50, p99 []float64
	for _, s := range samples {
		rate, p50, p99 = append(rate, s.rate()), append(p50, s.percentile(.5)), append(p99, s.percentile(.99))
	}
	r.report.Lines = append(r.report.Lines, PostgresLine{Name: name, Callers: callers, Rate: median(rate), P50: median(p50), P99: median(p99)})
	return rate
}

// beside sets the last line beside a peer's rates.
func (r *postgresRun) beside(peer string, mine, theirs []float64) float64 {
	var shares []float64
	for i := range min(len(mine), len(theirs)) {
		shares = append(shares, ratio(mine[i], theirs[i]))
	}
	last := &r.report.Lines[len(r.report.Lines)-1]
	last.Peer, last.OfPeer = peer, median(shares)
	return last.OfPeer
}

// least adds a target.
func (r *postgresRun) least(name string, measured, bound float64) {
	r.report.Targets = append(r.report.Targets, Target{name, fmt.Sprintf("at least %.2fx", bound), fmt.Sprintf("%.2fx", measured), measured >= bound})
}

func (r *postgresRun) most(name string, measured, bound float64) {
	r.report.Targets = append(r.report.Targets, Target{name, fmt.Sprintf("at most %.2fx", bound), fmt.Sprintf("%.2fx", measured), measured <= bound})
}

func (r *postgresRun) absent(what string) { r.report.Absent = append(r.report.Absent, what) }

// peerResult is what a peer's program prints: one line of JSON.
type peerResult struct {
	Rate float64 `json:"per_second"`
	P50  float64 `json:"p50_us"`
	P99  float64 `json:"p99_us"`
}

func readPeer(out []byte) (peerResult, error) {
	var result peerResult
	if err := json.Unmarshal(out, &result); err != nil {
		return result, fmt.Errorf("the peer printed %q: %w", out, err)
	}
	return result, nil
}
