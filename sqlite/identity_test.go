// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

func TestALedgerThatWasReplacedUnderItsProcessWritesNothing(t *testing.T) {
	for _, suffix := range []string{"", "-shm"} {
		t.Run("file "+suffix, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			l, err := sqlite.Open(context.Background(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			set := func() error {
				_, err := l.Setting(context.Background(), "x", func([]byte) []byte { return []byte("y") })
				return err
			}
			if err := set(); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+suffix, path+suffix+".moved"); err != nil {
				t.Fatal(err)
			}
			err = set()
			if !errors.Is(err, deed.ErrUnavailable) || !strings.Contains(err.Error(), "replaced") {
				t.Errorf("without %q: %v", suffix, err)
			}
			if err := os.Rename(path+suffix+".moved", path+suffix); err != nil {
				t.Fatal(err)
			}
			if err := set(); err != nil {
				t.Errorf("put back: %v", err)
			}
		})
	}
}
