// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

// MetricLabels are the only attributes that a metric may carry.
var MetricLabels = metricLabels
