// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import "time"

// MistakeClock makes the ledger take the database's clock for another.
func (l *Ledger) MistakeClock(by time.Duration) {
	m := l.writers.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	m.us += by.Microseconds()
}

// Remembered is the number of operations that the ledger remembers.
func (l *Ledger) Remembered() int {
	m := l.writers.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.rows)
}

// MaxRemembered bounds it.
const MaxRemembered = maxRemembered
