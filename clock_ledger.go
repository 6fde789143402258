// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"sync"
	"time"
)

// skewKept is how long a difference of clocks is held for the one there is.
const skewKept = 10 * time.Second

// ledgerClock converts moments of this process's clock into the ledger's. A
// view's time was read before the view came, so each view shows the difference
// too small by as long as it took to come: the largest difference of the last
// while is the nearest to the true one.
type ledgerClock struct {
	mu sync.Mutex
	// latest is the largest difference of the interval that began at since,
	// before that of the interval before it.
	since          time.Time
	latest, before time.Duration
}

// at is when something happened that this process's clock had at then; the
// view's time and this process's are now.
func (k *ledgerClock) at(then, view, now time.Time) time.Time {
	return now.Add(k.ahead(view, now)).Add(-now.Sub(then))
}

// ahead is how far the ledger's clock is ahead of this process's, by this view and
// those seen of late.
func (k *ledgerClock) ahead(view, now time.Time) time.Duration {
	seen := view.Sub(now)
	k.mu.Lock()
	defer k.mu.Unlock()
	switch age := now.Sub(k.since); {
	case k.since.IsZero() || age > 2*skewKept || age < 0:
		k.since, k.latest, k.before = now, seen, seen
	case age > skewKept:
		k.since, k.before, k.latest = now, k.latest, seen
	default:
		k.latest = max(k.latest, seen)
	}
	return max(k.latest, k.before)
}
