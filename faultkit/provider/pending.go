// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"time"
)

// ask keeps the call and answers with a question. The effect happens when the
// same request comes again with its request state (MCP 2026-07-28, MRTR).
func (w *work) ask() Reply {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.p.serial++
	state := fmt.Sprintf("state_%06d_%s", w.p.serial, w.request.ArgsSHA256[:12])
	w.p.asked[state] = w.call
	return Reply{Question: state}
}

// task is work that goes on after its handle was given out.
type task struct {
	id      string
	created time.Time
	changed time.Time
	reply   *Reply // nil while working
}

// begin answers with a task handle and commits later.
func (w *work) begin(f Fault) Reply {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.p.serial++
	t := &task{id: fmt.Sprintf("task_%06d", w.p.serial), created: w.p.now()}
	t.changed = t.created
	w.p.tasks[t.id] = t
	handle := *t
	w.p.working.Add(1)
	go func() {
		defer w.p.working.Done()
		if !w.p.holds.wait(w.tool.Name, time.Duration(f.Params.MS)*time.Millisecond, nil) {
			return
		}
		reply := w.commit()
		w.p.mu.Lock()
		defer w.p.mu.Unlock()
		t.reply, t.changed = &reply, w.p.now()
	}()
	return Reply{Handle: &handle}
}

// taskState is tasks/get: the task as it stands.
func (p *Provider) taskState(id string) (task, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.tasks[id]
	if !ok {
		return task{}, false
	}
	return *t, true
}

// wire is the task as the tasks extension writes it (SEP-2663).
func (t task) wire() map[string]any {
	state := map[string]any{
		"taskId": t.id, "status": "working", "ttlMs": 3_600_000, "pollIntervalMs": 50,
		"createdAt": t.created.UTC().Format(time.RFC3339Nano), "lastUpdatedAt": t.changed.UTC().Format(time.RFC3339Nano),
	}
	switch {
	case t.reply == nil:
	case t.reply.Error != nil:
		state["status"], state["error"] = "failed", t.reply.Error
	default:
		state["status"], state["result"] = "completed", toolResult(*t.reply)
	}
	return state
}
