// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/telemetry"
)

// allowed is written out here so that a new label is a decision of two files.
func allowed() []string {
	return []string{
		"agent.approval.decision",
		"agent.idempotency.decision",
		"agent.idempotency.status",
		"agent.store.operation",
		"agent.tool.name",
		"agent.tool.side_effect",
		"error.type",
		"gen_ai.operation.name",
		"gen_ai.tool.name",
		"mcp.method.name",
		"network.transport",
	}
}

func TestNoMetricCarriesALabelOutsideTheList(t *testing.T) {
	r := newRig(t, telemetry.Options{Transport: "tcp", OldestUncertain: func(context.Context) (time.Time, error) {
		return start(), nil
	}})
	walk(r)
	r.claim(context.Background(), callOf("pay/refund", "refund-order-1010", `{"order":1010}`))
	r.clock.Advance(time.Hour)
	if _, err := r.runtime.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.runtime.Trim(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.runtime.List(context.Background(), deed.Principal{Tenant: "acme", Actor: "agent-7"}, deed.Query{}); err != nil {
		t.Fatal(err)
	}
	metrics := r.collect()
	for _, name := range []string{
		"agent.approval.wait", "agent.idempotency.decisions", "agent.idempotency.invariant_violations",
		"agent.idempotency.lease_losses", "agent.idempotency.oldest_uncertain_age",
		"agent.idempotency.operations", "agent.store.operation.duration", "mcp.server.operation.duration",
	} {
		if _, ok := metrics[name]; !ok {
			t.Errorf("%s was not reported, so its labels were not seen", name)
		}
	}
	for name, m := range metrics {
		for _, p := range points(t, m) {
			for _, label := range p.labels.ToSlice() {
				if !slices.Contains(allowed(), string(label.Key)) {
					t.Errorf("%s carries the label %s", name, label.Key)
				}
			}
		}
	}
}

func TestTheListOfLabelsIsTheOneThatIsExported(t *testing.T) {
	var got []string
	for _, label := range telemetry.MetricLabels() {
		got = append(got, string(label))
	}
	slices.Sort(got)
	if !slices.Equal(got, allowed()) {
		t.Errorf("the list is %v, want %v", got, allowed())
	}
}
