// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/storetest"
)

// silentTasks takes reads of tasks and does not answer the first of them.
type silentTasks struct {
	*heldUpstream
	silent int
}

func (u *silentTasks) Open(func(mcpgate.Event), bool) mcpgate.Link { return u }

func (u *silentTasks) Send(ctx context.Context, x *mcpgate.Exchange) {
	if x.Message.Method == "tasks/get" && u.silent > 0 {
		u.silent--
		return
	}
	u.heldUpstream.Send(ctx, x)
}

func TestReadsOfATaskThatGetNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		silent int
		want   deed.Status
	}{
		"a few are made again":              {3, deed.StatusCommitted},
		"after many the outcome is unclear": {1000, deed.StatusUncertain},
	} {
		t.Run(name, func(t *testing.T) {
			u, clock := &silentTasks{newHeld(), c.silent}, storetest.NewClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
			u.results = map[string]string{"tasks/get": `{"taskId":"task-1","status":"completed"}`, "tasks/result": doneResult}
			h := build(t, clock, hints(nil), nil)
			client := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: tester, Guard: h.gate, Drain: time.Millisecond})
			client.send(addCall, 1, "")
			<-u.came
			u.answer(`{"task":{"taskId":"task-1","status":"working","pollInterval":1000}}`)
			mustContain(t, client.reply("1"), `"taskId":"task-1"`, `"status":"executing"`)
			until(t, "the end", func() bool {
				clock.Advance(time.Second)
				return h.status(t) == c.want
			})
			if n := u.count("tools/call"); n != 1 {
				t.Errorf("the upstream received %d calls", n)
			}
		})
	}
}
