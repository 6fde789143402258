// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

const benchmarked = 100_000

// BenchmarkPages measures pages over a ledger of 100,000 operations, of which a
// few in a thousand are uncertain or wait for approval. It reports
// p50 and p95 in milliseconds.
func BenchmarkPages(b *testing.B) { pages(b) }

// BenchmarkPagesOnPostgreSQL is BenchmarkPages over that ledger.
func BenchmarkPagesOnPostgreSQL(b *testing.B) { pages(b) }

func pages(b *testing.B) {
	r := newRig(b, nil)
	r.fill(b, benchmarked)
	vera := r.as("viewer-token")
	for _, page := range []struct{ name, path string }{
		{"overview", "/"}, {"ledger", "/ledger"}, {"ledger deep", "/ledger?until=2026-03-02T12:00:30Z"}, {"ledger of a status", "/ledger?status=uncertain"},
		{"ledger without a status", "/ledger?status=-committed"}, {"ledger of a tool", "/ledger?tool=crm/set_label"}, {"ledger of a key", "/ledger?key=refund:order-500:first"},
		{"ledger by text", "/ledger?text=re_99"}, {"uncertain", "/uncertain"}, {"approvals", "/approvals"}, {"contradictions", "/flags"},
	} {
		b.Run(page.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				begun := time.Now()
				vera.page(page.path)
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			at := func(part float64) float64 { return float64(took[int(part*float64(len(took)-1))].Microseconds()) / 1000 }
			b.ReportMetric(at(0.5), "p50-ms")
			b.ReportMetric(at(0.95), "p95-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// fill begins and settles operations from many goroutines, which share commits.
func (r *rig) fill(b *testing.B, n int) {
	b.Helper()
	r.rt.Close(context.Background())
	policy := rules()
	for tool, rule := range policy {
		rule.Rate, rule.Repeat, rule.Spend = deed.Limit{N: -1}, deed.Limit{N: -1}, nil
		policy[tool] = rule
	}
	rt, err := deed.New(deed.Options{Store: r.ledger, Clock: r.clock, Policy: policy})
	if err != nil {
		b.Fatal(err)
	}
	next := make(chan int)
	var working sync.WaitGroup
	for range 256 {
		working.Go(func() {
			for i := range next {
				if err := one(rt, i); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range n {
		if i%100 == 0 {
			r.clock.Advance(100 * time.Millisecond)
		}
		next <- i
	}
	close(next)
	working.Wait()
	if err := rt.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}

func one(rt *deed.Runtime, i int) error {
	tool := refund
	if i%500 == 7 {
		tool = payout
	}
	_, grant, err := rt.Claim(context.Background(), callOf(tool, fmt.Sprintf("refund:order-%d:first", i), fmt.Sprintf(`{"order_id":"%d","amount":%d}`, i, i)))
	if err != nil || grant == nil {
		return err
	}
	out := success(fmt.Sprintf("re_%d", i))
	if i%300 == 3 {
		out = unknown()
	}
	_, err = rt.Settle(context.Background(), grant, *out)
	return err
}
