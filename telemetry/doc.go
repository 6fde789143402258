// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package telemetry turns what a deed.Runtime does into OpenTelemetry traces
// and metrics: one span per call, counts of decisions and statuses, and the
// few numbers worth an alert.
//
// It is no record. Spans are sampled and exporters lose data; who wants to
// know what happened reads the ledger. Arguments, results, texts of upstreams
// and people, secrets and (unless asked for) keys never reach a span, and no
// identity ever becomes a metric label.
//
// Programs that configure by the environment start with [New]; those that
// own their providers with [NewObserver].
package telemetry
