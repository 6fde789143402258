// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deed-run/deed"
)

// health answers the two questions of whoever runs the process: does it live,
// and may it be sent calls.
type health struct {
	store deed.Store
	clock deed.Clock
	// outdated reports whether calls of some tools are refused here because another
	// gateway has other rules for them. It does not make the process unready: the one
	// whose rules are in force may be gone, and then no gateway would be ready, for
	// any tool, until a person came.
	outdated func() bool
	// clocks says what is wrong with the clocks of this machine and of the ledger, ""
	// for nothing; nil does not. It does not make the process unready either: only the
	// next call shows that they are right again.
	clocks func() string
	// outage is told what each look found; nil is not.
	outage *outage

	// stopping: the gateway has been asked to end.
	stopping atomic.Bool

	mu      sync.Mutex
	checked time.Time
	err     error
}

const (
	// readyFor is how long one look at the ledger answers for, so that probes
	// are no load.
	readyFor   = time.Second
	readyWait  = 2 * time.Second
	readyValue = "health/ready"
)

func (h *health) live(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") }

// ready writes to the ledger: one that only reads refuses every mutation.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	if h.stopping.Load() {
		answer(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	if h.check(r.Context()) != nil {
		answer(w, http.StatusServiceUnavailable, "the ledger takes no writes")
		return
	}
	if h.outdated() {
		answer(w, http.StatusOK, "ready, but calls of some tools are refused here (policy_outdated); the log names them")
		return
	}
	if h.clocks != nil {
		if text := h.clocks(); text != "" {
			answer(w, http.StatusOK, "ready, but "+text)
			return
		}
	}
	answer(w, http.StatusOK, "ready")
}

func (h *health) check(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock.Now()
	if !h.checked.IsZero() && now.Sub(h.checked) < readyFor && !now.Before(h.checked) {
		return h.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyWait)
	defer cancel()
	_, h.err = h.store.Setting(ctx, readyValue, func([]byte) []byte { return []byte(now.UTC().Format(time.RFC3339)) })
	h.checked = now
	if h.outage != nil {
		h.outage.checked(h.err)
	}
	return h.err
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}
