// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/postgres/internal/pgtest"
)

const benchTenant deed.Tenant = "acme"

func benchDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// benchOperation is a refund as the gateway would journal it.
type benchOperation struct {
	begin, settle deed.Change
	scope         deed.Scope
}

var (
	benchRules      = deed.Digest(benchDigest("rules"))
	benchDefinition = deed.Digest(benchDigest("definition"))
	benchResult     = []byte(`{"content":[{"type":"text","text":"refund re_1 created for order 1042: 12.00 EUR"}],"structuredContent":{"refund_id":"re_1"},"isError":false}`)
)

func newBenchOperation(n int64) benchOperation {
	now := time.Now().UTC().Truncate(time.Microsecond)
	name := fmt.Sprintf("order-%d", n)
	id := deed.OperationID(fmt.Sprintf("op_01%024d", n))
	op := &deed.Operation{
		ID: id, Tenant: benchTenant, Actor: "support",
		Key:  deed.Key{Family: deed.FamilyOperation, Text: "refund:" + name + ":first", Generation: 1, Provenance: deed.ProvenanceRuntime},
		Tool: "payments/refund", Effect: deed.EffectNonIdempotent,
		Fingerprint: deed.Fingerprint(benchDigest(name)), FingerprintRules: benchRules,
		Matter: deed.Matter(`["` + name + `"]`), UpstreamIdentity: "https://payments.example",
		Definition: benchDefinition, RulesHash: benchRules, PolicyRevision: "r1",
		Arguments: fmt.Appendf(nil, `{"order_id":%q,"amount":12.00,"currency":"EUR","reason":"damaged on arrival"}`, name),
		Meta:      map[string]string{"conversation": "c-4711"},
		Status:    deed.StatusExecuting,
		Attempts: []deed.Attempt{{
			Number: 1, Nonce: "abcdefghijklmnopqrstuvwxyz", Worker: "worker-1", UpstreamIdentity: "https://payments.example",
			BegunAt: now, SendBy: now.Add(time.Minute),
		}},
		CreatedAt: now, ProposedAt: now, AuthorizedAt: now, LeaseExpiresAt: now.Add(time.Minute), DispatchBy: now.Add(24 * time.Hour),
		Version: 1,
	}
	op.PayloadDigest = deed.Digest(benchDigest(string(op.Arguments)))
	event := deed.Event{
		ID: deed.EventID(fmt.Sprintf("ev_01%024d", 2*n)), Tenant: benchTenant, OperationID: id, Version: 1, At: now, Name: deed.EventBegun,
		Actor: "support", Attempt: 1, To: deed.StatusExecuting, Tool: op.Tool, Fingerprint: op.Fingerprint,
	}
	done := *op
	done.Status, done.Version, done.LeaseExpiresAt = deed.StatusCommitted, 2, time.Time{}
	done.SettledAt, done.RetainUntil = now, now.Add(720*time.Hour)
	done.Attempts = []deed.Attempt{op.Attempts[0]}
	done.Attempts[0].Outcome, done.Attempts[0].EndedAt, done.Attempts[0].Proved = deed.OutcomeSuccess, now, true
	done.Result, done.ResultDigest = benchResult, deed.Digest(benchDigest(string(benchResult)))
	done.Receipts = []deed.Receipt{{
		IdempotencyKey: op.Key.Text, EffectFingerprint: op.Fingerprint, Status: deed.StatusCommitted, RemoteSystem: "payments",
		RemoteID: "re_1", CommittedAt: now, OperationID: id, Attempt: 1, Established: deed.EstablishedAccepted, EstablishedBy: deed.ByReply,
		ResultDigest: done.ResultDigest,
	}}
	settled := event
	settled.ID, settled.Version, settled.Name = deed.EventID(fmt.Sprintf("ev_01%024d", 2*n+1)), 2, deed.EventSucceeded
	settled.From, settled.To = deed.StatusExecuting, deed.StatusCommitted
	return benchOperation{
		begin:  deed.Change{Put: []*deed.Operation{op}, Events: []deed.Event{event}},
		settle: deed.Change{Put: []*deed.Operation{&done}, Events: []deed.Event{settled}},
		scope: deed.Scope{
			Tenant: benchTenant, Keys: []deed.Key{op.Key}, Tool: op.Tool, FingerprintRules: benchRules,
			Fingerprints: []deed.Fingerprint{op.Fingerprint}, Matters: []deed.Matter{op.Matter},
		},
	}
}

func (o benchOperation) id() deed.OperationID { return o.begin.Put[0].ID }

// transactBoth begins and settles through the store.
func (o benchOperation) transactBoth(ctx context.Context, store deed.Store) error {
	_, err := store.Transact(ctx, o.scope, func(view deed.View) (deed.Change, error) {
		if view.Operation != nil || len(view.Twins) > 0 {
			return deed.Change{}, fmt.Errorf("%s is there already", o.id())
		}
		return o.begin, nil
	})
	if err != nil {
		return err
	}
	_, err = store.Transact(ctx, deed.Scope{Tenant: benchTenant, ID: o.id()}, func(deed.View) (deed.Change, error) { return o.settle, nil })
	return err
}

// onDisk starts a cluster whose commits wait for the disk of the temporary
// folder.
func onDisk(b *testing.B) *pgtest.Cluster {
	b.Helper()
	disk, err := pgtest.Start("")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(disk.Stop)
	return disk
}

// The counts of callers that are measured.
var benchCallers = []int{1, 16, 64, 256}

// BenchmarkFloor writes each operation with two plain statements of pgx, each
// of them its own commit.
func BenchmarkFloor(b *testing.B) {
	disk := onDisk(b)
	for _, callers := range benchCallers {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { floor(b, disk, callers) })
	}
}

var floorTables atomic.Int64

func floor(b *testing.B, disk *pgtest.Cluster, callers int) {
	config, err := pgxpool.ParseConfig(disk.Address("postgres"))
	if err != nil {
		b.Fatal(err)
	}
	config.MaxConns = int32(min(callers, 64))
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	table := fmt.Sprintf("floor_%d", floorTables.Add(1))
	if _, err := pool.Exec(b.Context(), `CREATE TABLE `+table+` (tenant text, key text, status text, arguments bytea, result bytea, at timestamptz DEFAULT now(), PRIMARY KEY (tenant, key))`); err != nil {
		b.Fatal(err)
	}
	operations := prepared(b)
	meter := start(b, disk)
	spread(b, callers, func(i int) error {
		op := operations[i].begin.Put[0]
		if _, err := pool.Exec(b.Context(), `INSERT INTO `+table+` (tenant, key, status, arguments) VALUES ($1, $2, 'executing', $3)`, string(op.Tenant), op.Key.Text, op.Arguments); err != nil {
			return err
		}
		_, err := pool.Exec(b.Context(), `UPDATE `+table+` SET status = 'committed', result = $3 WHERE tenant = $1 AND key = $2`, string(op.Tenant), op.Key.Text, benchResult)
		return err
	})
	meter.stop()
}

// BenchmarkTransact begins and settles each operation through the ledger.
func BenchmarkTransact(b *testing.B) {
	disk := onDisk(b)
	for _, callers := range benchCallers {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			ledger, err := postgres.Open(b.Context(), disk.Schema(b), postgres.Options{Patience: 30 * time.Second})
			if err != nil {
				b.Fatal(err)
			}
			defer ledger.Close()
			operations := prepared(b)
			meter := start(b, disk)
			spread(b, callers, func(i int) error { return operations[i].transactBoth(b.Context(), ledger) })
			meter.stop()
		})
	}
}

// BenchmarkReplay loads committed operations by key and appends the event of
// the decision, as a replay does.
func BenchmarkReplay(b *testing.B) {
	const hot = 2000
	disk := onDisk(b)
	ledger, err := postgres.Open(b.Context(), disk.Schema(b), postgres.Options{Patience: 30 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	defer ledger.Close()
	operations := make([]benchOperation, hot)
	var group sync.WaitGroup
	for part := range 64 {
		group.Go(func() {
			for i := part; i < hot; i += 64 {
				operations[i] = newBenchOperation(int64(i))
				if err := operations[i].transactBoth(b.Context(), ledger); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, callers := range benchCallers {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			meter := start(b, disk)
			spread(b, callers, func(i int) error {
				return replay(b.Context(), ledger, operations[(i*7919)%hot].begin.Put[0].Key)
			})
			meter.stop()
		})
	}
}

var replays atomic.Int64

func replay(ctx context.Context, store deed.Store, key deed.Key) error {
	view, err := store.Load(ctx, deed.Scope{Tenant: benchTenant, Keys: []deed.Key{key}})
	if err != nil {
		return err
	}
	op := view.Operation
	if op == nil || op.Receipt() == nil || op.Result == nil {
		return fmt.Errorf("nothing to replay under %s", key.Text)
	}
	return store.Append(ctx, []deed.Event{{
		ID: deed.EventID(fmt.Sprintf("ev_02%024d", replays.Add(1))), Tenant: benchTenant, OperationID: op.ID, Version: op.Version, At: view.Now,
		Name: deed.EventName(deed.Replay), Actor: op.Actor, Reason: deed.ReasonStored, Tool: op.Tool, Fingerprint: op.Fingerprint,
	}}, deed.Batched)
}

// prepared makes the operations outside the measured time.
func prepared(b *testing.B) []benchOperation {
	operations := make([]benchOperation, b.N)
	for i := range operations {
		operations[i] = newBenchOperation(int64(i))
	}
	return operations
}

// meter measures a benchmark and the processor time of this process and of
// the server: unlike the rate, that means something on a busy machine.
type meter struct {
	*testing.B
	disk         *pgtest.Cluster
	here, server time.Duration
}

func start(b *testing.B, disk *pgtest.Cluster) *meter {
	m := &meter{B: b, disk: disk}
	m.here, m.server = m.times()
	b.ResetTimer()
	return m
}

func (m *meter) times() (here, server time.Duration) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		m.Fatal(err)
	}
	server, err := m.disk.ProcessTime()
	if err != nil {
		m.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), server
}

func (m *meter) stop() {
	m.StopTimer()
	here, server := m.times()
	m.ReportMetric(float64(m.N)/m.Elapsed().Seconds(), "ops/s")
	m.ReportMetric(float64(here-m.here)/float64(m.N)/1e3, "cpu-us/op")
	m.ReportMetric(float64(server-m.server)/float64(m.N)/1e3, "server-cpu-us/op")
}

// spread runs do for 0 to b.N from several goroutines.
func spread(b *testing.B, callers int, do func(i int) error) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < b.N; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}
