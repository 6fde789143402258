// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

// What a transaction leaves behind that was rolled back must not reach the log
// later, where somebody else has written by then.
func TestATransactionThatIsRolledBackLeavesTheLogAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	first := openAt(t, path, sqlite.Options{})
	if err := errors.Join(newBenchOperation(1).transactBoth(t.Context(), first), first.Close()); err != nil {
		t.Fatal(err)
	}
	here, there := openAt(t, path, sqlite.Options{Patience: time.Minute}), openAt(t, path, sqlite.Options{Patience: time.Minute})
	if err := newBenchOperation(5).transactBoth(t.Context(), here); err != nil { // a commit before
		t.Fatal(err)
	}
	// With an empty log, nothing that a rollback reads is in it.
	execute(t, raw(t, path), "PRAGMA wal_checkpoint(TRUNCATE)")
	// More pages than the cache holds, and a key that is taken.
	large, taken := *newBenchOperation(2).begin.Put[0], *newBenchOperation(1).begin.Put[0]
	large.Arguments = fmt.Appendf(nil, `{"note":%q}`, strings.Repeat("x", 15_000_000))
	large.PayloadDigest = deed.Digest(benchDigest("large"))
	taken.ID = newBenchOperation(3).id()
	put := func(deed.View) (deed.Change, error) { return deed.Change{Put: []*deed.Operation{&large, &taken}}, nil }
	if _, err := here.Transact(t.Context(), deed.Scope{Tenant: benchTenant}, put); !errors.Is(err, deed.ErrKeyTaken) {
		t.Fatalf("a taken key: %v", err)
	}
	var others []benchOperation
	for n := range int64(300) {
		others = append(others, newBenchOperation(10+n))
		if err := others[n].transactBoth(t.Context(), there); err != nil {
			t.Fatal(err)
		}
	}
	if err := newBenchOperation(4).transactBoth(t.Context(), here); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(here.Close(), there.Close()); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, path, sqlite.Options{})
	for _, o := range others {
		view, err := again.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()})
		if err != nil || view.Operation == nil || view.Operation.Status != deed.StatusCommitted {
			t.Fatalf("%s was acknowledged and is not there: %v", o.id(), err)
		}
	}
}
