// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/telemetry"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// point is one series: its labels and its value, of a histogram the count.
type point struct {
	labels attribute.Set
	value  float64
}

func points(t *testing.T, m metricdata.Metrics) []point {
	t.Helper()
	var list []point
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			list = append(list, point{p.Attributes, float64(p.Value)})
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			list = append(list, point{p.Attributes, p.Value})
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			list = append(list, point{p.Attributes, float64(p.Count)})
		}
	default:
		t.Fatalf("%s has data of type %T", m.Name, m.Data)
	}
	return list
}

func sum(t *testing.T, m metricdata.Metrics) int {
	t.Helper()
	total := 0.0
	for _, p := range points(t, m) {
		total += p.value
	}
	return int(total)
}

// by sums a metric over one label.
func by(t *testing.T, m metricdata.Metrics, label attribute.Key) map[string]float64 {
	t.Helper()
	totals := map[string]float64{}
	for _, p := range points(t, m) {
		value, _ := p.labels.Value(label)
		totals[value.String()] += p.value
	}
	return totals
}

func TestMetricsCountWhatHappened(t *testing.T) {
	r := newRig(t, telemetry.Options{OldestUncertain: func(context.Context) (time.Time, error) {
		return start().Add(-time.Hour), nil
	}})
	walk(r)
	r.observer.Violated(context.Background(), "two receipts")
	got := r.collect()

	want := map[string]float64{
		"execute": 6, "replay": 1, "conflict": 1, "in_progress": 1, "uncertain": 1,
		"failed": 1, "denied": 1, "awaiting_approval": 1, "expired": 1,
	}
	if diff := cmp.Diff(want, by(t, got["agent.idempotency.decisions"], "agent.idempotency.decision")); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	moved := map[string]float64{
		"awaiting_approval": 0, "executing": 0, "committed": 2, "failed": 1, "uncertain": 2, "expired": 1,
	}
	if diff := cmp.Diff(moved, by(t, got["agent.idempotency.operations"], "agent.idempotency.status")); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if calls := sum(t, got["mcp.server.operation.duration"]); calls != 14 {
		t.Errorf("%d calls were timed, want 14", calls)
	}
	if n := sum(t, got["agent.idempotency.invariant_violations"]); n != 1 {
		t.Errorf("%d violations, want 1", n)
	}
	// The walk moved the clock by two minutes.
	if age := sum(t, got["agent.idempotency.oldest_uncertain_age"]); age != 3600+120 {
		t.Errorf("the oldest uncertain operation is %ds old, want 3720", age)
	}
	waits := got["agent.approval.wait"].Data.(metricdata.Histogram[float64]).DataPoints
	if len(waits) != 1 || waits[0].Sum != 120 {
		t.Errorf("approval waits are %+v, want one of 120 s", waits)
	}
	if diff := cmp.Diff(map[string]float64{"expired": 1}, by(t, got["agent.approval.wait"], "agent.approval.decision")); diff != "" {
		t.Errorf("approval waits (-want +got):\n%s", diff)
	}
}

func TestAnApprovalOfAnotherProcessIsTimedFromTheOperationsID(t *testing.T) {
	r := newRig(t, telemetry.Options{})
	r.run(context.Background(), callOf("pay/refund_large", "refund-order-1007", `{"order":1007}`), deed.Outcome{})
	page, err := r.store.List(context.Background(), deed.Query{Tenant: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	other := newRig(t, telemetry.Options{})
	approved := deed.Event{
		Name: deed.EventApproved, OperationID: page.Operations[0].ID, At: start().Add(90 * time.Second),
		From: deed.StatusAwaitingApproval, To: deed.StatusAuthorized, Tool: "pay/refund_large",
	}
	other.observer.Recorded(context.Background(), approved)
	approved.OperationID = "not an id"
	other.observer.Recorded(context.Background(), approved)
	waits := other.collect()["agent.approval.wait"].Data.(metricdata.Histogram[float64]).DataPoints
	if len(waits) != 1 || waits[0].Count != 1 || waits[0].Sum != 90 {
		t.Errorf("approval waits are %+v, want one of 90 s", waits)
	}
}

func TestALostLeaseIsCounted(t *testing.T) {
	r := newRig(t, telemetry.Options{})
	call := callOf("pay/refund", "refund-order-1001", `{"order":1001}`)
	r.claim(context.Background(), call)
	r.clock.Advance(time.Hour)
	if _, err := r.runtime.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := sum(t, r.collect()["agent.idempotency.lease_losses"]); n != 1 {
		t.Errorf("%d lost leases were counted, want 1", n)
	}
}

func TestAnAgeThatCannotBeAskedIsNotReported(t *testing.T) {
	r := newRig(t, telemetry.Options{OldestUncertain: func(context.Context) (time.Time, error) {
		return time.Time{}, errors.New("no ledger")
	}})
	var all metricdata.ResourceMetrics
	err := r.reader.Collect(context.Background(), &all)
	if err == nil {
		t.Error("the collection did not say so")
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == "agent.idempotency.oldest_uncertain_age" && len(points(t, m)) > 0 {
				t.Errorf("%s has a value", m.Name)
			}
		}
	}
}

func TestToolsBeyondTheLimitShareOneName(t *testing.T) {
	policies := map[string]struct {
		opts telemetry.Options
		want map[string]float64
	}{
		"the first of any name":    {telemetry.Options{MaxTools: 2}, map[string]float64{"x/tool-0": 1, "x/tool-1": 1, "_other": 3}},
		"those the policy knows":   {telemetry.Options{KnownTool: func(tool deed.Tool) bool { return tool == "x/tool-3" }}, map[string]float64{"x/tool-3": 1, "_other": 4}},
		"two hundred when unasked": {telemetry.Options{}, map[string]float64{"x/tool-0": 1, "x/tool-1": 1, "x/tool-2": 1, "x/tool-3": 1, "x/tool-4": 1}},
	}
	for name, c := range policies {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.opts)
			for i := range 5 {
				r.run(context.Background(), callOf(deed.Tool(fmt.Sprintf("x/tool-%d", i)), "", `{}`), deed.Outcome{})
			}
			if diff := cmp.Diff(c.want, by(t, r.collect()["agent.idempotency.decisions"], "agent.tool.name")); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			names := map[string]bool{}
			for _, span := range r.spans.GetSpans() {
				names[span.Name] = true
			}
			if len(names) != len(c.want) {
				t.Errorf("span names are %v", names)
			}
		})
	}
}
