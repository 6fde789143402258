// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math"
	"slices"
	"time"
)

// sample is what one measurement of one round saw.
type sample struct {
	elapsed   time.Duration
	latencies []time.Duration
	// processor is what the calls cost in processor time, 0 where the system
	// does not tell.
	processor time.Duration
}

// cost is the processor time of one call, in microseconds.
func (s sample) cost() float64 {
	if len(s.latencies) == 0 {
		return 0
	}
	return float64(s.processor.Nanoseconds()) / 1000 / float64(len(s.latencies))
}

// rate is the number of calls per second.
func (s sample) rate() float64 {
	if s.elapsed <= 0 {
		return 0
	}
	return float64(len(s.latencies)) / s.elapsed.Seconds()
}

// percentile is the latency below which the share p of the calls stayed, in
// microseconds.
func (s sample) percentile(p float64) float64 {
	if len(s.latencies) == 0 {
		return 0
	}
	slices.Sort(s.latencies)
	at := int(math.Ceil(p*float64(len(s.latencies)))) - 1
	return float64(s.latencies[max(0, at)].Nanoseconds()) / 1000
}

// median is the middle of the values, 0 when there are none. Machines are
// noisy: one disturbed round moves it little.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// ratio is 0 when there is nothing to divide by.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// add joins another measurement of the same kind.
func (s *sample) add(other sample) {
	s.elapsed += other.elapsed
	s.processor += other.processor
	s.latencies = append(s.latencies, other.latencies...)
}
