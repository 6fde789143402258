// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/reconcile"
	"github.com/deed-run/deed/sqlite"
	"github.com/deed-run/deed/storetest"
)

// stub answers each look-up after a while and counts how many it is at.
type stub struct {
	takes         time.Duration
	now, most, at atomic.Int64
	asked         sync.Map
	twice         atomic.Int64
}

func (s *stub) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	s.most.Store(max(s.most.Load(), s.now.Add(1)))
	defer s.now.Add(-1)
	s.at.Add(1)
	if _, again := s.asked.LoadOrStore(q.Operation.ID, true); again {
		s.twice.Add(1)
	}
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return deed.Verdict{}, ctx.Err()
	}
	return deed.Verdict{
		Kind: deed.VerdictFound, Strategy: "stub", Complete: true,
		Matches: []deed.Match{{RemoteID: "t_" + string(q.Operation.ID), Token: q.Marks.Marker}},
	}, nil
}

// doubts makes n uncertain operations in the store.
func doubts(tb testing.TB, store deed.Store, reconciler deed.Reconciler, n int) *deed.Runtime {
	tb.Helper()
	rt, err := deed.New(deed.Options{Store: store, Policy: deed.FixedPolicy{"tickets/create": lagging()}, Reconciler: reconciler})
	if err != nil {
		tb.Fatal(err)
	}
	var group sync.WaitGroup
	for lane := range 64 {
		group.Go(func() {
			for i := lane; i < n; i += 64 {
				_, grant, err := rt.Claim(context.Background(), deed.Call{
					Principal: agent, Tool: "tickets/create", Key: deed.OperationKey(fmt.Sprintf("ticket:%d:first-time", i)),
					Arguments: fmt.Appendf(nil, `{"title":"broken %d"}`, i),
				})
				if err != nil || grant == nil {
					tb.Error("not begun", err)
					return
				}
				if _, err := rt.Settle(context.Background(), grant, deed.Outcome{Kind: deed.OutcomeUnknown}); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	group.Wait()
	return rt
}

// committed waits until nothing is due any more and counts what is committed.
func committed(tb testing.TB, rt *deed.Runtime, s *stub, n int) {
	tb.Helper()
	until(tb, "all are looked up", func() bool { return int(s.at.Load()) >= n && s.now.Load() == 0 })
	until(tb, "none is uncertain", func() bool {
		page, err := rt.List(context.Background(), agent, deed.Query{Statuses: []deed.Status{deed.StatusUncertain}, Limit: 1})
		if err != nil {
			tb.Fatal(err)
		}
		return len(page.Operations) == 0
	})
}

// patience is far more than what is waited for takes on a slow machine.
const patience = 2 * time.Minute

// until waits for what workers do in goroutines of their own, and fails the test
// rather than hang.
func until(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("after %s it is not so that %s", patience, what)
		}
	}
}

func TestWorkersShareTheWork(t *testing.T) {
	s := &stub{takes: time.Millisecond}
	store := storetest.NewMemory(deed.SystemClock{})
	const n = 300
	rt := doubts(t, store, s, n)
	other, err := deed.New(deed.Options{Store: store, Policy: deed.FixedPolicy{"tickets/create": lagging()}, Reconciler: s})
	if err != nil {
		t.Fatal(err)
	}
	var workers []*reconcile.Worker
	for _, of := range []*deed.Runtime{rt, rt, other} {
		w, err := reconcile.Start(reconcile.Options{Runtime: of, InFlight: 8, Every: time.Hour, Failed: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		workers = append(workers, w)
	}
	committed(t, rt, s, n)
	for _, w := range workers {
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if s.twice.Load() != 0 || s.at.Load() != n || s.most.Load() > 24 {
		t.Errorf("%d look-ups, %d of them again, %d at a time", s.at.Load(), s.twice.Load(), s.most.Load())
	}
	for _, one := range []*deed.Runtime{rt, other} {
		if err := one.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestClosingAWorkerEndsItsLookUps(t *testing.T) {
	s := &stub{takes: time.Hour}
	rt := doubts(t, storetest.NewMemory(deed.SystemClock{}), s, 10)
	w, err := reconcile.Start(reconcile.Options{Runtime: rt})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "ten look-ups are under way", func() bool { return s.now.Load() == 10 })
	if err := w.Close(t.Context()); err != nil || s.now.Load() != 0 {
		t.Errorf("%v, %d look-ups go on", err, s.now.Load())
	}
	page, err := rt.List(t.Context(), agent, deed.Query{Statuses: []deed.Status{deed.StatusUncertain}})
	if err != nil || len(page.Operations) != 10 {
		t.Errorf("%v: %d are uncertain", err, len(page.Operations))
	}
	if err := rt.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// silent is a Runtime whose ledger cannot be read.
type silent struct{ asked chan struct{} }

func (s silent) Due(context.Context, int) ([]deed.Due, error) {
	s.asked <- struct{}{}
	return nil, deed.ErrUnavailable
}

func (silent) LeaseDue(context.Context, []deed.Due) ([]deed.Due, error) {
	return nil, errors.New("not asked for")
}

func (silent) ReconcileDue(context.Context, deed.Due) (deed.Finding, error) {
	return deed.Finding{}, errors.New("not asked for")
}

func TestAWorkerOutlivesALedgerThatIsDown(t *testing.T) {
	s := silent{make(chan struct{})}
	var told atomic.Int64
	clock := storetest.NewClock(time.Unix(0, 0))
	w, err := reconcile.Start(reconcile.Options{Runtime: s, Clock: clock, Failed: func(error) { told.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	<-s.asked
	w.Wake()
	<-s.asked
	until(t, "the worker waits for its clock", func() bool { return clock.Waiting() >= 2 })
	clock.Advance(5 * time.Second)
	<-s.asked
	until(t, "three failures are told", func() bool { return told.Load() >= 3 })
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := reconcile.Start(reconcile.Options{}); err == nil {
		t.Error("a worker without a Runtime")
	}
}

// BenchmarkReconcile looks 10,000 uncertain operations up, 64 at a time, on
// the shipping ledger, beside the bare look-ups.
func BenchmarkReconcile(b *testing.B) {
	const n, inFlight = 10_000, 64
	for _, takes := range []time.Duration{20 * time.Millisecond, 50 * time.Millisecond} {
		b.Run(takes.String(), func(b *testing.B) {
			for b.Loop() {
				s := &stub{takes: takes}
				store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"), sqlite.Options{})
				if err != nil {
					b.Fatal(err)
				}
				rt := doubts(b, store, s, n)
				bare := bareLoop(n, inFlight, takes)
				runtime.GC()
				begun := time.Now()
				w, err := reconcile.Start(reconcile.Options{Runtime: rt, InFlight: inFlight})
				if err != nil {
					b.Fatal(err)
				}
				stop := make(chan struct{})
				peak := watchMemory(stop)
				committed(b, rt, s, n)
				took := time.Since(begun)
				close(stop)
				b.ReportMetric(float64(n)/took.Seconds(), "operations/s")
				b.ReportMetric(100*bare.Seconds()/took.Seconds(), "%ofbare")
				b.ReportMetric(float64(<-peak)/(1<<20), "MiB")
				if err := errors.Join(w.Close(b.Context()), rt.Close(b.Context()), store.Close()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// bareLoop makes the look-ups and nothing else.
func bareLoop(n, inFlight int, takes time.Duration) time.Duration {
	s := &stub{takes: takes}
	begun := time.Now()
	queue := make(chan int)
	var group sync.WaitGroup
	for range inFlight {
		group.Go(func() {
			for i := range queue {
				_, _ = s.Probe(context.Background(), deed.Inquest{Operation: &deed.Operation{ID: deed.OperationID(fmt.Sprint(i))}})
			}
		})
	}
	for i := range n {
		queue <- i
	}
	close(queue)
	group.Wait()
	return time.Since(begun)
}

// watchMemory yields the most heap that was in use until stop.
func watchMemory(stop <-chan struct{}) <-chan uint64 {
	peak := make(chan uint64, 1)
	go func() {
		var most uint64
		var stats runtime.MemStats
		for {
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapInuse)
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return peak
}
