// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"time"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// recoveries are the failures of processes that die and come back.
func recoveries() []story {
	aged := setup{tools: business(), url: true, skewed: true, defaults: map[string]any{"max_age": "12h"}}
	return []story{
		{id: "D11", setup: aged, play: d11, only: withOwnClock},
		{id: "D17", setup: setup{tools: business(), skewed: true}, play: d17},
		{id: "E01", setup: setup{tools: business(), skewed: true}, play: e01},
	}
}

// d11 leaves 110 operations of three ages behind and comes back.
func d11(w *world) {
	w.running.Kill()
	var done, lost, unsent []caller.Call
	for i, age := range []time.Duration{15 * time.Hour, 8 * time.Hour, time.Minute} {
		w.offset = -age
		w.start()
		for n := i; n < 60; n += 3 {
			done = append(done, ordered("done", n))
			w.call(done[len(done)-1], committed)
		}
		w.order(provider.Fault{Fault: provider.CommitDrop, Times: len(every(i, 40))})
		for _, n := range every(i, 40) {
			lost = append(lost, ordered("lost", n))
			w.call(lost[len(lost)-1], unknown)
		}
		w.misbehave(provider.RefuseConn)
		unsent = append(unsent, w.unsent(i)...)
		w.must(w.fixture.Release(w.Context(), ""))
		w.running.Kill()
	}
	requests, err := w.fixture.Requests(w.Context(), provider.Selection{})
	w.must(err)
	w.offset = 0
	w.start()
	w.restart()
	after, err := w.fixture.Requests(w.Context(), provider.Selection{})
	w.must(err)
	if len(after) != len(requests) || len(done) != 60 || len(lost) != 40 || len(unsent) != 10 {
		w.Errorf("a restart sent %d requests for %d+%d+%d operations, want none for 60+40+10", len(after)-len(requests), len(done), len(lost), len(unsent))
	}
	if n := len(w.list("uncertain")); n != 40 {
		w.Errorf("%d operations are listed as uncertain, want 40", n)
	}
	for _, c := range done {
		w.call(c, replay)
	}
	for _, c := range lost {
		w.call(c, uncertain)
	}
	for n, c := range unsent {
		want := committed
		if n < 4 { // these are the ones of 15 hours ago
			want = "failed:too_old"
		}
		w.call(c, want)
	}
}

// every lists the numbers below n that belong to the i-th of three ages.
func every(i, n int) []int {
	var list []int
	for k := i; k < n; k += 3 {
		list = append(list, k)
	}
	return list
}

// unsent makes calls while nobody listens at the provider.
func (w *world) unsent(i int) []caller.Call {
	var list []caller.Call
	for _, n := range every(i, 10) {
		c := ordered("unsent", n)
		w.call(c, failed+":not_sent")
		list = append(list, c)
	}
	return list
}

// d17 dies at the four named points.
func d17(w *world) {
	for _, c := range []struct{ point, then string }{{"P1", committed}, {"P2", "uncertain"}, {"P3", "uncertain"}, {"P4", replay}} {
		order := "order-" + c.point
		call := charge("charge:"+order+":first", order, 100)
		w.restart("DEED_CRASH_AT=" + c.point)
		w.call(call, "no answer")
		w.crash()
		w.call(call, c.then)
		w.call(call, map[string]string{committed: replay, replay: replay, "uncertain": "uncertain"}[c.then])
		if c.point == "P2" {
			w.counted(order, 0, 0)
			continue
		}
		w.counted(order, 1, 1)
	}
}

func e01(w *world) {
	w.restart("DEED_CRASH_AT=P2")
	call := charge("charge:order-1:first", "order-1", 100)
	w.call(call, "no answer")
	w.running.Kill()
	w.later(time.Minute)
	w.start()
	step := w.call(call, "uncertain:outcome_unknown")
	if step.Result.Operation.ID == "" {
		w.Fatal("the answer names no operation to resolve")
	}
	w.ops("resolve", step.Result.Operation.ID, "--not-applied", "--reason", "the provider never saw it")
	w.call(call, committed)
	w.counted("order-1", 1, 1)
}
