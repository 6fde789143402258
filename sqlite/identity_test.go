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
	for _, suffix := range []string{"", "-wal", "-shm"} {
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

// A gateway was killed, its file was moved elsewhere without its log, another one is
// started, and the file is put back.
func TestTheLogOfALedgerThatWasMovedAwayIsNotEmptied(t *testing.T) {
	running := filepath.Join(t.TempDir(), "ledger.db")
	l := openAt(t, running, sqlite.Options{})
	o, err := begin(t.Context(), l, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ledger.db")
	copyFile(t, running, path+".moved")
	copyFile(t, running+"-wal", path+"-wal")
	for _, empty := range []bool{false, true} {
		if empty {
			writeFile(t, path, "")
		}
		_, err = sqlite.Open(t.Context(), path, sqlite.Options{})
		var no *sqlite.OpenError
		if !errors.As(err, &no) || !strings.Contains(err.Error(), "there is no ledger") {
			t.Errorf("with an empty file %v: %v", empty, err)
		}
	}
	if err := os.Rename(path+".moved", path); err != nil {
		t.Fatal(err)
	}
	view, err := openAt(t, path, sqlite.Options{}).Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()})
	if err != nil || view.Operation == nil {
		t.Errorf("what was acknowledged is gone: %v", err)
	}
}
