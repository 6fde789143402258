// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/deed-run/deed"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Store returns inner with the time of its operations measured. Watch, which
// waits by design, is not.
func Store(inner deed.Store, metrics metric.MeterProvider) deed.Store {
	return measure(inner, metrics.Meter(scopeName), deed.SystemClock{})
}

// Measured returns inner measured by the meter of the observer, or as it is
// when the observer is not one of this package or exports nothing.
func Measured(inner deed.Store, observer deed.Observer) deed.Store {
	o, ok := observer.(*Observer)
	if !ok {
		return inner
	}
	return measure(inner, o.meter, o.opts.Clock)
}

func measure(inner deed.Store, meter metric.Meter, clock deed.Clock) deed.Store {
	duration, err := meter.Float64Histogram(meterStoreDuration, metric.WithUnit("s"),
		metric.WithDescription("How long the ledger took."),
		metric.WithExplicitBucketBoundaries(storeBuckets()...))
	if err != nil {
		otel.Handle(err)
		return inner
	}
	return &measuredStore{Store: inner, clock: clock, duration: duration}
}

type measuredStore struct {
	deed.Store
	clock    deed.Clock
	duration metric.Float64Histogram
}

func (s *measuredStore) done(ctx context.Context, operation string, since time.Time, err error) {
	labels := []attribute.KeyValue{keyStoreOperation.String(operation)}
	if err != nil {
		labels = append(labels, keyErrorType.String(storeFailure(err)))
	}
	s.duration.Record(ctx, s.clock.Now().Sub(since).Seconds(), metric.WithAttributes(labels...))
}

func (s *measuredStore) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	since := s.clock.Now()
	var refused error
	view, err := s.Store.Transact(ctx, scope, func(view deed.View) (deed.Change, error) {
		var c deed.Change
		c, refused = change(view)
		return c, refused
	})
	failure := err
	if refused != nil && errors.Is(err, refused) {
		// A change that declined to write is no failure of the ledger.
		failure = nil
	}
	s.done(ctx, "transact", since, failure)
	return view, err
}

func (s *measuredStore) Load(ctx context.Context, scope deed.Scope) (deed.View, error) {
	since := s.clock.Now()
	view, err := s.Store.Load(ctx, scope)
	s.done(ctx, "load", since, err)
	return view, err
}

func (s *measuredStore) List(ctx context.Context, query deed.Query) (deed.Page, error) {
	since := s.clock.Now()
	page, err := s.Store.List(ctx, query)
	s.done(ctx, "list", since, err)
	return page, err
}

func (s *measuredStore) Events(ctx context.Context, query deed.EventQuery) ([]deed.Event, error) {
	since := s.clock.Now()
	events, err := s.Store.Events(ctx, query)
	s.done(ctx, "events", since, err)
	return events, err
}

func (s *measuredStore) Append(ctx context.Context, events []deed.Event, durability deed.Durability) error {
	since := s.clock.Now()
	err := s.Store.Append(ctx, events, durability)
	s.done(ctx, "append", since, err)
	return err
}

func (s *measuredStore) Trim(ctx context.Context, now time.Time, limit int) (int, error) {
	since := s.clock.Now()
	n, err := s.Store.Trim(ctx, now, limit)
	s.done(ctx, "trim", since, err)
	return n, err
}

func (s *measuredStore) Setting(ctx context.Context, name string, update func(old []byte) []byte) ([]byte, error) {
	since := s.clock.Now()
	value, err := s.Store.Setting(ctx, name, update)
	s.done(ctx, "setting", since, err)
	return value, err
}

// storeFailure names an error of a Store in one word.
func storeFailure(err error) string {
	for _, known := range []struct {
		err  error
		name string
	}{
		{deed.ErrCommitUnknown, "commit_unknown"},
		{deed.ErrUnavailable, "unavailable"},
		{deed.ErrVersion, "version"},
		{deed.ErrKeyTaken, "key_taken"},
		{deed.ErrNotFound, "not_found"},
		{deed.ErrLedgerVersion, "ledger_version"},
		{deed.ErrClosed, "closed"},
		{context.Canceled, "canceled"},
		{context.DeadlineExceeded, "timeout"},
	} {
		if errors.Is(err, known.err) {
			return known.name
		}
	}
	return errorOther
}
