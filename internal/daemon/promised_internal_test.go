// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"strconv"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/policy"
)

// What a command starts gives its ids anew: the task of that id may be another
// call's, and its result no proof of this one.
func TestOnlyAServerThatOutlivesItsGatewayIsAskedForATask(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]bool{
		`upstreams: {shop: {url: "https://shop.example/mcp"}}`: true,
		`upstreams: {shop: {command: [shop]}}`:                 false,
	} {
		config, err := policy.Parse("deed.yaml", []byte(text), func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		c := &Core{Config: config, Policy: config.Policy(), upstreams: map[string]mcpgate.Upstream{"shop": nil}}
		op := &deed.Operation{
			Tool: "shop/charge", Status: deed.StatusUncertain, Reason: deed.ReasonOutcomeUnknown, UpstreamIdentity: c.identityOf("shop"),
			Attempts: []deed.Attempt{{Number: 1, BegunAt: now.Add(-time.Minute), Outcome: deed.OutcomeUnknown, TaskID: "task-1"}},
		}
		if _, ok := c.taskOf(op, now); ok != want {
			t.Errorf("%s: the task is asked for: %t", text, ok)
		}
	}
}

func TestEveryTaskHasItsTurn(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	p := &promised{next: map[deed.OperationID]attempted{}}
	const many, passes = 50 * promisesAtOnce, 50
	read := map[deed.OperationID]int{}
	for pass := range passes {
		at := now.Add(time.Duration(pass) * promisesEvery)
		var due []promise
		for i := range many {
			op := &deed.Operation{ID: deed.OperationID(strconv.Itoa(i))}
			if last := p.next[op.ID]; !at.Before(last.at) {
				due = append(due, promise{op: op, due: last.at})
			}
		}
		for _, d := range p.take(due, at) {
			read[d.op.ID]++
		}
	}
	if len(read) != many {
		t.Errorf("%d of %d tasks were read in %d passes", len(read), many, passes)
	}
}
