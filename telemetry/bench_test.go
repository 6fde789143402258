// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/telemetry"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func BenchmarkNewWhenOff(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := telemetry.New(context.Background(), telemetry.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	call := callOf("pay/refund", "refund-order-1001", `{"order":1001}`)
	answer := deed.Answer{Decision: deed.Replay, Reason: deed.ReasonStored, Received: "sha256:0", Operation: &deed.Operation{
		ID: "op_1", Status: deed.StatusCommitted, Receipts: []deed.Receipt{{RemoteID: "re_1", Attempt: 1}},
	}}
	for name, sampler := range map[string]sdktrace.Sampler{"sampled": sdktrace.AlwaysSample(), "dropped": sdktrace.NeverSample()} {
		b.Run(name, func(b *testing.B) {
			observer := telemetry.NewObserver(
				sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler)),
				sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())), telemetry.Options{})
			b.ReportAllocs()
			for b.Loop() {
				observer.CallAnswered(observer.CallStarted(context.Background(), call), call, answer)
			}
		})
	}
}
