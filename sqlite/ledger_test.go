// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
	"github.com/deed-run/deed/storetest"
)

// open returns a ledger in a folder of its own.
func open(t *testing.T, clock deed.Clock) *sqlite.Ledger {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{Clock: clock, Patience: time.Minute})
}

func openAt(t *testing.T, path string, options sqlite.Options) *sqlite.Ledger {
	t.Helper()
	ledger, err := sqlite.Open(t.Context(), path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ledger.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return ledger
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock deed.Clock) deed.Store { return open(t, clock) })
}
