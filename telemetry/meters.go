// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// meters are the instruments of an Observer.
type meters struct {
	decisions    metric.Int64Counter
	operations   metric.Int64UpDownCounter
	leaseLosses  metric.Int64Counter
	violations   metric.Int64Counter
	approvalWait metric.Float64Histogram
	duration     metric.Float64Histogram
}

// callBuckets are those that the conventions advise for MCP, in seconds;
// waitBuckets go from a glance to a week.
func callBuckets() []float64 {
	return []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}
}

func waitBuckets() []float64 {
	return []float64{1, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600}
}

func storeBuckets() []float64 {
	return []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5}
}

// newMeters makes the instruments. One that a provider refuses is reported to
// OpenTelemetry's error handler and counts nothing: telemetry fails no call.
func newMeters(meter metric.Meter, opts Options) meters {
	var m meters
	var err error
	report := func() {
		if err != nil {
			otel.Handle(err)
		}
	}
	m.decisions, err = meter.Int64Counter(meterDecisions, metric.WithUnit("{decision}"),
		metric.WithDescription("Calls by what they were answered."))
	report()
	m.operations, err = meter.Int64UpDownCounter(meterOperations, metric.WithUnit("{operation}"),
		metric.WithDescription("Operations by status, as far as this process moved them."))
	report()
	m.leaseLosses, err = meter.Int64Counter(meterLeaseLosses, metric.WithUnit("{lease}"),
		metric.WithDescription("Attempts whose process did not report back in time."))
	report()
	m.violations, err = meter.Int64Counter(meterViolations, metric.WithUnit("{violation}"),
		metric.WithDescription("Invariants found broken. It must stay 0."))
	report()
	m.violations.Add(context.Background(), 0)
	m.approvalWait, err = meter.Float64Histogram(meterApprovalWait, metric.WithUnit("s"),
		metric.WithDescription("How long proposals waited for a person."),
		metric.WithExplicitBucketBoundaries(waitBuckets()...))
	report()
	name := meterServerDuration
	if opts.Surface == SurfaceLibrary {
		name = meterLibraryDuration
	}
	m.duration, err = meter.Float64Histogram(name, metric.WithUnit("s"),
		metric.WithDescription("How long calls took from arrival to answer."),
		metric.WithExplicitBucketBoundaries(callBuckets()...))
	report()
	if opts.OldestUncertain != nil {
		_, err = meter.Float64ObservableGauge(meterOldestUncertain, metric.WithUnit("s"),
			metric.WithDescription("Age of the oldest uncertain operation, 0 if there is none."),
			metric.WithFloat64Callback(oldestUncertain(opts)))
		report()
	}
	return m
}

// oldestUncertain observes nothing when the ledger cannot be asked: a stale
// age must not look like a good one.
func oldestUncertain(opts Options) metric.Float64Callback {
	return func(ctx context.Context, observer metric.Float64Observer) error {
		since, err := opts.OldestUncertain(ctx)
		if err != nil {
			return err
		}
		age := 0.0
		if !since.IsZero() {
			age = max(0, opts.Clock.Now().Sub(since).Seconds())
		}
		observer.Observe(age)
		return nil
	}
}
