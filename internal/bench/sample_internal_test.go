// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"
	"time"
)

func TestPercentilesAreOfTheNearestRank(t *testing.T) {
	var s sample
	for n := range 100 {
		s.latencies = append(s.latencies, time.Duration(100-n)*time.Microsecond)
	}
	for p, want := range map[float64]float64{0: 1, .5: 50, .99: 99, 1: 100} {
		if got := s.percentile(p); got != want {
			t.Errorf("percentile %v is %v, want %v", p, got, want)
		}
	}
	if got := (sample{}).percentile(.5); got != 0 {
		t.Errorf("the percentile of nothing is %v", got)
	}
}

func TestTheMedianIgnoresOneDisturbedRound(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{900, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}} {
		if got := median(test.values); got != test.want {
			t.Errorf("median of %v is %v, want %v", test.values, got, test.want)
		}
	}
}

func TestTargetsAreJudgedFromBothSides(t *testing.T) {
	good := Report{
		Throughput: []Throughput{{Callers: 1, Over: 1.3, FloorP50: 500}, {Callers: 64, OfFloor: .75, Tail: 10}},
		Replays:    &Replays{Rate: 30000},
		Size:       &Size{ClaimOver: 1.3, ReplayOver: 1.3, Resident: 150 << 20},
		Overhead:   []Overhead{{Way: wayRelay, ReadAdded: 100}, {Way: wayDeed, ReadAdded: 130, MutateAdded: 630}},
	}
	bad := Report{
		Throughput: []Throughput{{Callers: 1, Over: 1.31, FloorP50: 500}, {Callers: 64, OfFloor: .74, Tail: 11}},
		Replays:    &Replays{Rate: 29999},
		Size:       &Size{ClaimOver: 1.31, ReplayOver: 1.31, Resident: 151 << 20},
		Overhead:   []Overhead{{Way: wayRelay, ReadAdded: 100}, {Way: wayDeed, ReadAdded: 131, MutateAdded: 631}},
	}
	for _, target := range good.targets() {
		if !target.Met {
			t.Errorf("missed at its bound: %+v", target)
		}
	}
	if n := len(bad.targets()); n != 9 {
		t.Errorf("%d targets, want 9", n)
	}
	for _, target := range bad.targets() {
		if target.Met {
			t.Errorf("met beyond its bound: %+v", target)
		}
	}
}
