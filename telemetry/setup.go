// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/deed-run/deed"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	metricoff "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	traceoff "go.opentelemetry.io/otel/trace/noop"
)

// labelLimit bounds the series of one instrument; what is beyond it is summed
// under otel.metric.overflow.
const labelLimit = 2000

// New returns an Observer that exports over OTLP/HTTP as the OTEL_* variables
// say, and the function that flushes and ends the exporting. When they ask
// for nothing, the Observer does nothing and nothing is set up.
//
// Observer and function are never nil: with an error, which names the
// variable at fault, they do nothing, and the program may go on without.
// Nothing is connected to before the first export.
func New(ctx context.Context, opts Options) (deed.Observer, func(context.Context) error, error) {
	want, err := environment()
	if err != nil {
		return off{}, nothing, fmt.Errorf("telemetry stays off: %w", err)
	}
	if !want.traces && !want.metrics {
		return off{}, nothing, nil
	}
	end := &ending{}
	observer, err := exporting(ctx, opts, want, end)
	if err != nil {
		return off{}, nothing, errors.Join(fmt.Errorf("telemetry stays off: %w", err), end.shutdown(ctx))
	}
	return observer, end.shutdown, nil
}

func exporting(ctx context.Context, opts Options, want wanted, end *ending) (*Observer, error) {
	// The environment comes last: OTEL_SERVICE_NAME and
	// OTEL_RESOURCE_ATTRIBUTES override what is said here.
	service := []attribute.KeyValue{attribute.String("service.name", "deed")}
	if opts.Version != "" {
		service = append(service, attribute.String("service.version", opts.Version))
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(service...), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("reading OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	var traces trace.TracerProvider = traceoff.NewTracerProvider()
	var metrics metric.MeterProvider = metricoff.NewMeterProvider()
	if want.traces {
		exporter, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("setting up the export of traces: %w", err)
		}
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
		end.add(provider.Shutdown)
		traces = provider
	}
	if want.metrics {
		exporter, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("setting up the export of metrics: %w", err)
		}
		provider := sdkmetric.NewMeterProvider(
			sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)),
			sdkmetric.WithResource(about),
			sdkmetric.WithCardinalityLimit(labelLimit),
			sdkmetric.WithView(onlyLabels),
		)
		end.add(provider.Shutdown)
		metrics = provider
	}
	return NewObserver(traces, metrics, opts), nil
}

// onlyLabels is the view that drops every attribute which is no label.
func onlyLabels(instrument sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	return sdkmetric.Stream{
		Name: instrument.Name, Description: instrument.Description, Unit: instrument.Unit,
		AttributeFilter: attribute.NewAllowKeysFilter(metricLabels()...),
	}, true
}

// ending flushes and ends the providers once.
type ending struct {
	once  sync.Once
	steps []func(context.Context) error
	err   error
}

func (e *ending) add(step func(context.Context) error) { e.steps = append(e.steps, step) }

func (e *ending) shutdown(ctx context.Context) error {
	e.once.Do(func() {
		var errs []error
		for _, step := range e.steps {
			errs = append(errs, step(ctx))
		}
		e.err = errors.Join(errs...)
	})
	return e.err
}

func nothing(context.Context) error { return nil }

// off observes nothing.
type off struct{}

func (off) CallStarted(ctx context.Context, _ deed.Call) context.Context { return ctx }
func (off) CallAnswered(context.Context, deed.Call, deed.Answer)         {}
func (off) Recorded(context.Context, deed.Event)                         {}
func (off) Violated(context.Context, string)                             {}
