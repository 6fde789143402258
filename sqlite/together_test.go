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

func TestTwoHandlesOnOneFile(t *testing.T) {
	storetest.RunTogether(t, func(t *testing.T) []deed.Store {
		path := filepath.Join(t.TempDir(), "ledger.db")
		options := sqlite.Options{Patience: time.Minute}
		return []deed.Store{openAt(t, path, options), openAt(t, path, options)}
	})
}
