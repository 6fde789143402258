// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"sync"
)

// marks is an index of the effects by their marker, so that a search for one
// costs the same whatever the ledger holds.
type marks struct {
	mu       sync.Mutex
	byMarker map[string][]Effect
	listed   int
}

// of returns the effects that carry the marker, nil when none does.
func (m *marks) of(marker string, ledger *journal[Effect]) []Effect {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byMarker == nil {
		m.byMarker = map[string][]Effect{}
	}
	rows := ledger.since(m.listed)
	for _, e := range rows {
		if e.Marker != "" {
			m.byMarker[e.Marker] = append(m.byMarker[e.Marker], e)
		}
	}
	m.listed += len(rows)
	return m.byMarker[marker]
}

// clear forgets everything, for a ledger that was emptied.
func (m *marks) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byMarker, m.listed = nil, 0
}

// candidates are the effects that a look-up has to go through.
func (w *work) candidates() []Effect {
	var wanted string
	if json.Unmarshal(w.args[w.tool.business], &wanted) == nil && wanted != "" {
		if marked := w.p.marks.of(wanted, w.p.ledgers.effects); marked != nil {
			return marked
		}
	}
	return w.p.ledgers.effects.all()
}
