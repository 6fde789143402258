// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/server"
	"github.com/deed-run/deed/sqlite"
)

// BenchmarkCalls makes guarded calls over sockets from 64 callers, on the
// SQLite ledger with its syncs: fresh ones, and repeats of one.
func BenchmarkCalls(b *testing.B) {
	ledger, err := sqlite.Open(context.Background(), filepath.Join(b.TempDir(), "ledger.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	rule := deed.DefaultRule(tool)
	rule.Rate, rule.Repeat = deed.Limit{N: 1 << 40, Per: 1}, deed.Limit{N: 1 << 40, Per: 1}
	rt, err := deed.New(deed.Options{Store: ledger, Policy: deed.FixedPolicy{tool: rule}})
	if err != nil {
		b.Fatal(err)
	}
	s, err := server.New(server.Options{Runtime: rt, Auth: byToken, Tools: &tools{rt: rt}})
	if err != nil {
		b.Fatal(err)
	}
	web := httptest.NewServer(s)
	client, err := api.New(api.Options{BaseURL: web.URL, Token: "agent", HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		web.Close()
		_ = rt.Close(context.Background())
		_ = ledger.Close()
	})
	var serial atomic.Int64
	for name, key := range map[string]func() int64{
		"fresh":  func() int64 { return serial.Add(1) },
		"replay": func() int64 { return 0 },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					n := key()
					_, err := client.Call(context.Background(), tool, fmt.Sprintf("refund:order-%d:first", n), api.CallRequest{Arguments: fmt.Appendf(nil, `{"order_id":"%d"}`, n)})
					if err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}
