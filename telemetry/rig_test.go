// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
	"github.com/deed-run/deed/telemetry"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"
)

// TestMain takes away what the environment says of exporters.
func TestMain(m *testing.M) {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "OTEL_") {
			if err := os.Unsetenv(name); err != nil {
				panic(err)
			}
		}
	}
	goleak.VerifyTestMain(m)
}

// start is where every test's clock begins.
func start() time.Time { return time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC) }

// rig is a Runtime over the reference store, watched by an Observer.
type rig struct {
	t        *testing.T
	clock    *storetest.Clock
	store    deed.Store
	policy   deed.FixedPolicy
	runtime  *deed.Runtime
	observer *telemetry.Observer
	spans    *tracetest.InMemoryExporter
	reader   *sdkmetric.ManualReader
}

func newRig(t *testing.T, opts telemetry.Options) *rig {
	t.Helper()
	clock := storetest.NewClock(start())
	return rigOver(t, clock, storetest.NewMemory(clock), opts)
}

// rigOver is another process over the same ledger.
func rigOver(t *testing.T, clock *storetest.Clock, store deed.Store, opts telemetry.Options) *rig {
	t.Helper()
	r := &rig{t: t, clock: clock, policy: rules(), spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans))
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	opts.Clock = clock
	if opts.Secret == nil {
		opts.Secret = []byte("a secret of this test and no other")
	}
	r.observer = telemetry.NewObserver(traces, metrics, opts)
	r.store = telemetry.Measured(store, r.observer)
	var err error
	r.runtime, err = deed.New(deed.Options{Store: r.store, Policy: r.policy, Clock: clock, Observer: r.observer, Worker: "worker-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for name, end := range map[string]func(context.Context) error{
			"runtime": r.runtime.Close, "traces": traces.Shutdown, "metrics": metrics.Shutdown,
		} {
			if err := end(context.Background()); err != nil {
				t.Errorf("closing the %s: %v", name, err)
			}
		}
	})
	return r
}

// rules are the tools of these tests. A negative Wait answers duplicates of a
// live attempt at once.
func rules() deed.FixedPolicy {
	refund := deed.DefaultRule("pay/refund")
	refund.Wait = -1
	large := refund
	large.NeedsApproval = func([]byte, deed.Principal) bool { return true }
	look := deed.DefaultRule("pay/look")
	look.Effect = deed.EffectReadOnly
	return deed.FixedPolicy{"pay/refund": refund, "pay/refund_large": large, "pay/look": look}
}

func callOf(tool deed.Tool, key, arguments string) deed.Call {
	call := deed.Call{
		Principal:   deed.Principal{Tenant: "acme", Actor: "agent-7", Rights: []deed.Right{deed.RightCall, deed.RightResolve}},
		Tool:        tool,
		Arguments:   []byte(arguments),
		ManualLease: true,
	}
	if key != "" {
		call.Key = deed.OperationKey(key)
	}
	return call
}

// claim asks, and returns the grant if there is one.
func (r *rig) claim(ctx context.Context, call deed.Call) (deed.Answer, *deed.Grant) {
	r.t.Helper()
	answer, grant, err := r.runtime.Claim(ctx, call)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer, grant
}

// run claims and, if granted, settles with the outcome.
func (r *rig) run(ctx context.Context, call deed.Call, out deed.Outcome) deed.Answer {
	r.t.Helper()
	answer, grant := r.claim(ctx, call)
	if grant == nil {
		return answer
	}
	answer, err := r.runtime.Settle(ctx, grant, out)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer
}

func success(remoteID string) deed.Outcome {
	return deed.Outcome{
		Kind: deed.OutcomeSuccess, Result: []byte(`{"ok":true}`),
		Receipt: deed.Receipt{RemoteSystem: "pay", RemoteID: remoteID},
	}
}

// collect returns the metrics by name.
func (r *rig) collect() map[string]metricdata.Metrics {
	r.t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(context.Background(), &all); err != nil {
		r.t.Fatal(err)
	}
	byName := map[string]metricdata.Metrics{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			byName[m.Name] = m
		}
	}
	return byName
}
