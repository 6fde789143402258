// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
	"github.com/deed-run/deed/telemetry"
)

// environ sets the only OTEL variables that the test has.
func environ(t *testing.T, variables map[string]string) {
	t.Helper()
	for name, value := range variables {
		t.Setenv(name, value)
	}
}

func TestNothingIsSetUpUnlessTheEnvironmentAsksForIt(t *testing.T) {
	for name, variables := range map[string]map[string]string{
		"an empty environment":      {},
		"a service name alone":      {"OTEL_SERVICE_NAME": "gateway"},
		"exporters of none":         {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
		"a disabled SDK":            {"OTEL_SDK_DISABLED": "True", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
		"a protocol of no exporter": {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
	} {
		t.Run(name, func(t *testing.T) {
			environ(t, variables)
			observer, shutdown, err := telemetry.New(context.Background(), telemetry.Options{})
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			if observer.CallStarted(ctx, deed.Call{}) != ctx {
				t.Error("a call got a context of its own")
			}
			store := storetest.NewMemory(storetest.NewClock(start()))
			if telemetry.Measured(store, observer) != deed.Store(store) {
				t.Error("the store is measured")
			}
			if err := shutdown(ctx); err != nil {
				t.Errorf("shutting down: %v", err)
			}
		})
	}
}

func TestWhatCannotBeExportedIsNamed(t *testing.T) {
	for variable, value := range map[string]string{
		"OTEL_TRACES_EXPORTER":                "zipkin",
		"OTEL_METRICS_EXPORTER":               "prometheus",
		"OTEL_EXPORTER_OTLP_PROTOCOL":         "grpc",
		"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/json",
	} {
		t.Run(variable, func(t *testing.T) {
			environ(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", variable: value})
			observer, shutdown, err := telemetry.New(context.Background(), telemetry.Options{})
			if err == nil || !strings.Contains(err.Error(), variable) || !strings.Contains(err.Error(), value) {
				t.Errorf("the error is %v", err)
			}
			observer.Violated(context.Background(), "usable all the same")
			if err := shutdown(context.Background()); err != nil {
				t.Errorf("shutting down: %v", err)
			}
		})
	}
}

func TestShutdownFlushesToAnOTLPReceiver(t *testing.T) {
	c := newCollector(t)
	environ(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.server.URL,
		"OTEL_RESOURCE_ATTRIBUTES":    "deployment.environment.name=test",
	})
	ctx := context.Background()
	observer, shutdown, err := telemetry.New(ctx, telemetry.Options{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	store := telemetry.Measured(storetest.NewMemory(deed.SystemClock{}), observer)
	runtime, err := deed.New(deed.Options{Store: store, Policy: rules(), Observer: observer})
	if err != nil {
		t.Fatal(err)
	}
	under := telemetry.Extract(ctx, map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
	for range 2 {
		_, err := runtime.Do(under, callOf("pay/refund", "refund-order-1001", `{"order":1001}`),
			func(context.Context, deed.Attempt) (deed.Receipt, error) { return deed.Receipt{RemoteID: "re_1"}, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := runtime.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := shutdown(ctx); err != nil {
			t.Errorf("shutting down: %v", err)
		}
	}

	if len(c.spans) != 2 {
		t.Fatalf("the receiver has %d spans, want 2", len(c.spans))
	}
	executed, replayed := c.spans[0], c.spans[1]
	for _, span := range c.spans {
		if got := hex.EncodeToString(span.TraceId) + "/" + hex.EncodeToString(span.ParentSpanId); got != "4bf92f3577b34da6a3ce929d0e0e4736/00f067aa0ba902b7" {
			t.Errorf("%s has the parent %s", span.Name, got)
		}
	}
	if len(replayed.Links) != 1 || string(replayed.Links[0].SpanId) != string(executed.SpanId) {
		t.Error("the replay does not link to the span that executed")
	}
	for name, want := range map[string]string{"service.name": "deed", "service.version": "1.2.3", "deployment.environment.name": "test"} {
		if c.resource[name] != want {
			t.Errorf("%s is %q, want %q", name, c.resource[name], want)
		}
	}
	if c.metrics["agent.idempotency.decisions"] == nil || c.metrics["agent.store.operation.duration"] == nil {
		t.Errorf("the receiver lacks decisions or store times: %v", c.metrics)
	}
	duration := c.metrics["mcp.server.operation.duration"].GetHistogram().GetDataPoints()
	if len(duration) != 1 || len(duration[0].ExplicitBounds) != 14 || duration[0].Count != 2 {
		t.Errorf("durations are %v", duration)
	}
}

func TestOneSignalAloneCanBeExported(t *testing.T) {
	c := newCollector(t)
	environ(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.server.URL + "/v1/traces"})
	ctx := context.Background()
	observer, shutdown, err := telemetry.New(ctx, telemetry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	call := callOf("pay/look", "", `{}`)
	observer.CallAnswered(observer.CallStarted(ctx, call), call, deed.Answer{Decision: deed.Execute})
	if err := shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if len(c.spans) != 1 || len(c.metrics) != 0 {
		t.Errorf("%d spans and %d metrics arrived, want 1 and 0", len(c.spans), len(c.metrics))
	}
}

func TestAReceiverThatRefusesIsReportedAtShutdown(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	environ(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL})
	ctx := context.Background()
	observer, shutdown, err := telemetry.New(ctx, telemetry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	call := callOf("pay/look", "", `{}`)
	observer.CallAnswered(observer.CallStarted(ctx, call), call, deed.Answer{Decision: deed.Execute})
	if err := shutdown(ctx); err == nil {
		t.Error("losing the last export was not reported")
	}
}
