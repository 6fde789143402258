// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"sync"
	"time"
)

// handing are the answers of a session that are being written out and are not yet noted as delivered. A client may have read one of them, and
// what it sends then is a new action: the ledger must have the note before it looks at the call.
type handing struct {
	mu   sync.Mutex
	open map[chan struct{}]time.Time // since when
}

// begin is called before an answer is written; end after it was noted, or could not be written.
func (h *handing) begin(now time.Time) (end func()) {
	done := make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = map[chan struct{}]time.Time{}
	}
	h.open[done] = now
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.open, done)
		close(done)
	}
}

// underWay returns a wait for the answers that were being handed over when a call came: of a later one its client knew nothing. The wait ends
// early with ctx.
func (h *handing) underWay(came time.Time) func(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.open) == 0 {
		return func(context.Context) {}
	}
	list := make([]chan struct{}, 0, len(h.open))
	for done, since := range h.open {
		if !came.Before(since) {
			list = append(list, done)
		}
	}
	return func(ctx context.Context) {
		for _, done := range list {
			select {
			case <-done:
			case <-ctx.Done():
				return
			}
		}
	}
}
