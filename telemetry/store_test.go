// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
	"github.com/deed-run/deed/telemetry"
	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// broken is a ledger whose disk is gone.
type broken struct {
	deed.Store
	err error
}

func (b broken) Load(context.Context, deed.Scope) (deed.View, error) { return deed.View{}, b.err }

func TestStoreTimesAreKeptByOperationAndFailure(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	memory := storetest.NewMemory(storetest.NewClock(start()))
	store := telemetry.Store(broken{memory, fmt.Errorf("writing: %w", deed.ErrUnavailable)}, metrics)
	ctx := context.Background()
	scope := deed.Scope{Tenant: "acme", ID: "op_1"}

	if _, err := store.Load(ctx, scope); !errors.Is(err, deed.ErrUnavailable) {
		t.Errorf("the error of the ledger became %v", err)
	}
	declined := errors.New("declined")
	if _, err := store.Transact(ctx, scope, func(deed.View) (deed.Change, error) { return deed.Change{}, declined }); !errors.Is(err, declined) {
		t.Errorf("the error of the change became %v", err)
	}
	if _, err := store.List(ctx, deed.Query{Tenant: "acme"}); err != nil {
		t.Fatal(err)
	}

	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		t.Fatal(err)
	}
	m := all.ScopeMetrics[0].Metrics[0]
	if diff := cmp.Diff(map[string]float64{"load": 1, "transact": 1, "list": 1}, by(t, m, "agent.store.operation")); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if failed := by(t, m, "error.type")["unavailable"]; failed != 1 {
		t.Errorf("failures are %v, want one unavailable", by(t, m, "error.type"))
	}
}
