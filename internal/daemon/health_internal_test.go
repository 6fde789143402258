// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

// fullDisk is a store that takes no writes while full.
type fullDisk struct {
	deed.Store
	full   bool
	writes int
}

func (s *fullDisk) Setting(ctx context.Context, name string, update func([]byte) []byte) ([]byte, error) {
	s.writes++
	if s.full {
		return nil, deed.ErrUnavailable
	}
	return s.Store.Setting(ctx, name, update)
}

func TestReadyMeansThatTheLedgerTakesWrites(t *testing.T) {
	clock := storetest.NewClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	store := &fullDisk{Store: storetest.NewMemory(clock)}
	h := &health{store: store, clock: clock, outdated: func() bool { return false }}
	get := func(handler http.HandlerFunc) int {
		w := httptest.NewRecorder()
		handler(w, httptest.NewRequest(http.MethodGet, "/", nil))
		return w.Code
	}
	for _, step := range []struct {
		name   string
		full   bool
		later  time.Duration
		want   int
		writes int
	}{
		{"a working ledger is ready", false, 0, http.StatusOK, 1},
		{"one look answers for a second", true, 500 * time.Millisecond, http.StatusOK, 1},
		{"a full disk is not ready", true, time.Second, http.StatusServiceUnavailable, 2},
		{"room again is ready again", false, time.Second, http.StatusOK, 3},
	} {
		store.full = step.full
		clock.Advance(step.later)
		if got := get(h.ready); got != step.want || store.writes != step.writes {
			t.Errorf("%s: got %d after %d writes, want %d after %d", step.name, got, store.writes, step.want, step.writes)
		}
		if got := get(h.live); got != http.StatusOK {
			t.Errorf("%s: the process is up and says %d", step.name, got)
		}
	}
}
