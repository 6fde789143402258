// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package outcomes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector"
	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/reconcile"
	"github.com/deed-run/deed/sqlite"
)

// BenchmarkReconcilingTenThousand looks 10,000 uncertain operations up at the
// fixture provider, which is a process of its own, 64 at a time, on the shipping
// ledger, beside a loop that makes the same requests and nothing else. Provider,
// gateway and loop share the machine's processors. A provider that takes no time
// shows what the ledger costs, one that takes 100 ms what is usual.
func BenchmarkReconcilingTenThousand(b *testing.B) {
	const n, inFlight = 10_000, 64
	for _, takes := range []int{0, 5, 20, 100} {
		b.Run(fmt.Sprintf("look-ups take %d ms", takes), func(b *testing.B) { reconcileMany(b, n, inFlight, takes) })
	}
}

func reconcileMany(b *testing.B, n, inFlight, takes int) {
	b.Helper()
	for b.Loop() {
		fixture, err := faultkit.StartFixture(b.Context(), []string{built.fixture}, filepath.Join(b.TempDir(), "provider"), "--lookup-ms", fmt.Sprint(takes))
		if err != nil {
			b.Fatal(err)
		}
		d := newDoubts(b, fixture, n)
		bare := d.bare(b, inFlight)
		debug.FreeOSMemory()
		stop, peak := make(chan struct{}), make(chan uint64, 1)
		go watchMemory(stop, peak)
		used, begun := processorTime(b), time.Now()
		w, err := reconcile.Start(reconcile.Options{Runtime: d.Runtime, InFlight: inFlight})
		if err != nil {
			b.Fatal(err)
		}
		d.awaitCommitted(b, n)
		took := time.Since(begun)
		close(stop)
		b.ReportMetric(float64(n)/took.Seconds(), "operations/s")
		b.ReportMetric(float64(n)/bare.Seconds(), "bare/s")
		b.ReportMetric(100*bare.Seconds()/took.Seconds(), "%ofbare")
		b.ReportMetric((processorTime(b)-used).Seconds()*1e6/float64(n), "cpu-µs/operation")
		b.ReportMetric(float64(<-peak)/(1<<20), "MiB")
		load, _ := os.ReadFile("/proc/loadavg")
		b.Logf("load of the machine: %s", bytes.TrimSpace(load))
		if err := errors.Join(w.Close(b.Context()), d.Runtime.Close(b.Context()), d.ledger.Close(), fixture.Close()); err != nil {
			b.Fatal(err)
		}
	}
}

// doubts is a ledger full of uncertain operations whose effects are at a
// provider.
type doubts struct {
	*deed.Runtime
	ledger *sqlite.Ledger
	tools  string
	who    deed.Principal
	marks  []string
	told   *commits
}

// commits counts what look-ups have proved.
type commits struct {
	mu sync.Mutex
	n  int
	// all is closed at the last one.
	all  chan struct{}
	want int
}

func (*commits) CallStarted(ctx context.Context, _ deed.Call) context.Context { return ctx }
func (*commits) CallAnswered(context.Context, deed.Call, deed.Answer)         {}
func (*commits) Violated(context.Context, string)                             {}

func (c *commits) Recorded(_ context.Context, e deed.Event) {
	if e.Name != deed.EventProved {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.n == c.want {
		close(c.all)
	}
}

func newDoubts(b *testing.B, fixture *faultkit.Fixture, n int) *doubts {
	b.Helper()
	description := fmt.Sprintf(`
system: fixture
base_url: %s
allow_private: true
tools:
  create:
    method: POST
    path: /tools/ticket.create
    body: json
    receipt: {id: /id, require: true}
    marker: {into: /metadata/op}
    reconcile: {lookup: find}
lookups:
  find:
    path: /tools/ticket.search
    query: {q: "{marker}"}
    items: /items
    match: {token: /metadata/op, equals: "{marker}"}
    id: /id
    pages: {style: one}
    consistency: strong
`, strings.TrimSuffix(fixture.Tools, "/"))
	api, err := connector.Load([]byte(description), "fixture.yaml", 1, func(string) (string, bool) { return "", false })
	if err != nil {
		b.Fatal(err)
	}
	ledger, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	d := &doubts{ledger: ledger, tools: fixture.Tools, who: deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead}}, told: &commits{all: make(chan struct{}), want: n}}
	rule := deed.DefaultRule("shop/create")
	rule.MaxProcessing, rule.ReadLag, rule.GiveUp = time.Minute, time.Second, time.Hour
	rule.Rate, rule.Repeat = deed.Limit{N: -1, Per: time.Minute}, deed.Limit{N: -1, Per: time.Minute}
	rule.Planting = &deed.Planting{Plant: func(arguments []byte, marks deed.Marks) ([]byte, error) {
		return bytes.Replace(arguments, []byte("{"), []byte(`{"metadata":{"op":"`+marks.Marker+`"},`), 1), nil
	}}
	d.Runtime, err = deed.New(deed.Options{Store: ledger, Policy: deed.FixedPolicy{"shop/create": rule}, Reconciler: api, Observer: d.told})
	if err != nil {
		b.Fatal(err)
	}
	d.fill(b, n)
	return d
}

// fill begins the operations, lets the provider act on what was frozen, and
// loses every answer.
func (d *doubts) fill(b *testing.B, n int) {
	b.Helper()
	items := make([]json.RawMessage, n)
	each(n, 64, func(i int) error {
		_, grant, err := d.Claim(b.Context(), deed.Call{
			Principal: d.who, Tool: "shop/create", Key: deed.OperationKey(fmt.Sprintf("ticket:order-%05d:first", i)),
			Arguments: fmt.Appendf(nil, `{"id":"order-%05d","title":"A ticket"}`, i),
		})
		if err != nil || grant == nil {
			return fmt.Errorf("claim: %w", err)
		}
		items[i] = bytes.Clone(grant.Arguments)
		_, err = d.Settle(b.Context(), grant, deed.Outcome{Kind: deed.OutcomeUnknown})
		return err
	}, b)
	for _, raw := range items {
		var sent struct{ Metadata struct{ Op string } }
		if err := json.Unmarshal(raw, &sent); err != nil {
			b.Fatal(err)
		}
		d.marks = append(d.marks, sent.Metadata.Op)
	}
	for at := 0; at < n; at += 500 {
		body, err := json.Marshal(map[string]any{"items": items[at:min(at+500, n)]})
		if err != nil {
			b.Fatal(err)
		}
		res, err := http.Post(strings.TrimSuffix(d.tools, "/")+"/tools/bulk.create", "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
}

// bare makes the same look-ups and nothing else.
func (d *doubts) bare(b *testing.B, inFlight int) time.Duration {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: inFlight}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	begun := time.Now()
	each(len(d.marks), inFlight, func(i int) error {
		res, err := client.Get(strings.TrimSuffix(d.tools, "/") + "/tools/ticket.search?q=" + url.QueryEscape(d.marks[i]))
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		var found struct{ Items []struct{ ID string } }
		if err := json.NewDecoder(res.Body).Decode(&found); err != nil || len(found.Items) != 1 {
			return fmt.Errorf("%d found: %w", len(found.Items), err)
		}
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}, b)
	return time.Since(begun)
}

func (d *doubts) awaitCommitted(b *testing.B, n int) {
	b.Helper()
	limit := time.NewTimer(20 * time.Minute)
	defer limit.Stop()
	select {
	case <-d.told.all:
	case <-limit.C:
		b.Fatalf("%d of %d are committed after 20 minutes", d.told.n, n)
	}
}

// each does the work n times, so many at once, and fails the benchmark with the
// first error.
func each(n, atOnce int, work func(i int) error, b *testing.B) {
	b.Helper()
	queue, problems := make(chan int), make(chan error, n)
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			for i := range queue {
				if err := work(i); err != nil {
					problems <- err
				}
			}
		})
	}
	for i := range n {
		queue <- i
	}
	close(queue)
	group.Wait()
	select {
	case err := <-problems:
		b.Fatal(err)
	default:
	}
}

// processorTime is what this process has used so far, which says what a look-up
// costs also on a machine that has other work.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// watchMemory yields the most heap that was in use until stop.
func watchMemory(stop <-chan struct{}, peak chan<- uint64) {
	var most uint64
	var stats runtime.MemStats
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		runtime.ReadMemStats(&stats)
		most = max(most, stats.HeapInuse)
		select {
		case <-stop:
			peak <- most
			return
		case <-tick.C:
		}
	}
}
