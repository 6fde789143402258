// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"testing"
	"time"
)

// A server that has begun its ids anew may have given the id to another call, whose
// result is no proof of this one.
func TestTheTaskOfAnotherCallIsNoProof(t *testing.T) {
	given := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for state, another := range map[string]bool{
		`{"taskId":"task-1","status":"completed","createdAt":"2026-03-02T11:59:00.5Z"}`: false,
		`{"taskId":"task-1","status":"completed","createdAt":"2026-03-02T12:00:30Z"}`:   false,
		`{"taskId":"task-1","status":"completed","createdAt":"2026-03-02T12:05:00Z"}`:   true,
		`{"taskId":"task-2","status":"completed","createdAt":"2026-03-02T11:59:00Z"}`:   true,
		`{"taskId":"task-1","status":"completed"}`:                                      false,
		`{"status":"completed","createdAt":"lately"}`:                                   false,
	} {
		if why := anotherTask([]byte(state), "task-1", given); (why != "") != another {
			t.Errorf("%s: %q", state, why)
		}
	}
}
