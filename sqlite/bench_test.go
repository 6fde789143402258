// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
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

func benchPath(b *testing.B) string { return filepath.Join(b.TempDir(), "ledger.db") }

// prepared makes the operations outside the measured time.
func prepared(b *testing.B, from int64) []benchOperation {
	operations := make([]benchOperation, b.N)
	for i := range operations {
		operations[i] = newBenchOperation(from + int64(i))
	}
	return operations
}

// BenchmarkFloor writes begin and settle of each operation bare: one
// transaction each, and 64 to a transaction.
func BenchmarkFloor(b *testing.B) {
	for _, group := range []int{1, 64} {
		b.Run(fmt.Sprintf("group=%d", group), func(b *testing.B) {
			floor, err := sqlite.OpenFloor(b.Context(), benchPath(b), sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer floor.Close()
			operations := prepared(b, 0)
			b.ResetTimer()
			cpu := processTime()
			for at := 0; at < len(operations); at += group {
				part := operations[at:min(at+group, len(operations))]
				begins, settles := make([]deed.Change, len(part)), make([]deed.Change, len(part))
				for i, o := range part {
					begins[i], settles[i] = o.begin, o.settle
				}
				if err := floor.Write(begins...); err != nil {
					b.Fatal(err)
				}
				if err := floor.Write(settles...); err != nil {
					b.Fatal(err)
				}
				for _, o := range part {
					floor.Forget(o.id())
				}
			}
			report(b, cpu)
		})
	}
}

// BenchmarkTransact begins and settles each operation through the store.
func BenchmarkTransact(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			ledger, err := sqlite.Open(b.Context(), benchPath(b), sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer ledger.Close()
			operations := prepared(b, 0)
			b.ResetTimer()
			cpu := processTime()
			spread(b, callers, func(i int) error { return operations[i].transactBoth(b.Context(), ledger) })
			report(b, cpu)
		})
	}
}

// report adds the rate, and the processor time of an operation: unlike the
// rate it means something on a busy machine.
func report(b *testing.B, before time.Duration) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric(float64(processTime()-before)/float64(b.N), "cpu-ns/op")
}

// processTime is the processor time that this process has used.
func processTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
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

// BenchmarkReplay loads committed operations by key and appends the event of
// the decision, as a replay does.
func BenchmarkReplay(b *testing.B) {
	const hot = 10_000
	ledger, err := sqlite.Open(b.Context(), benchPath(b), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer ledger.Close()
	keys := fill(b, ledger, 0, hot)
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			b.ResetTimer()
			cpu := processTime()
			spread(b, callers, func(i int) error { return replay(b.Context(), ledger, keys[(i*7919)%len(keys)], i) })
			report(b, cpu)
		})
	}
}

func replay(ctx context.Context, store deed.Store, key deed.Key, i int) error {
	view, err := store.Load(ctx, deed.Scope{Tenant: benchTenant, Keys: []deed.Key{key}})
	if err != nil {
		return err
	}
	op := view.Operation
	if op == nil || op.Receipt() == nil || op.Result == nil {
		return fmt.Errorf("nothing to replay under %s", key.Text)
	}
	return store.Append(ctx, []deed.Event{{
		ID: deed.EventID(fmt.Sprintf("ev_02%024d", i)), Tenant: benchTenant, OperationID: op.ID, Version: op.Version, At: view.Now,
		Name: deed.EventName(deed.Replay), Actor: op.Actor, Reason: deed.ReasonStored, Tool: op.Tool, Fingerprint: op.Fingerprint,
	}}, deed.Batched)
}

// fill commits n operations and returns their keys.
func fill(b *testing.B, store deed.Store, from, n int64) []deed.Key {
	b.Helper()
	keys := make([]deed.Key, n)
	var next atomic.Int64
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
				o := newBenchOperation(from + i)
				keys[i] = o.begin.Put[0].Key
				if err := o.transactBoth(b.Context(), store); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return keys
}
