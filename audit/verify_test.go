// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/audit"
)

func TestALogSaysHowOftenWasBegunAndHowOftenReplayed(t *testing.T) {
	s := newScene(t)
	s.append(t)
	got := s.verify(t)
	if got.Found != 0 || got.Waiting != 0 || got.Begun != 2 || got.Replays != 2 || got.Conflicts != 1 {
		t.Errorf("the report is %+v; want two attempts, two replays, a conflict and nothing found", got)
	}
	if more := s.append(t); more != 0 || s.checkpoint(t).Size != got.Size {
		t.Errorf("%d records came on a second look", more)
	}
}

func TestWhatIsRecordedLaterIsLoggedNext(t *testing.T) {
	s := newScene(t)
	first := s.append(t)
	rt, err := deed.New(deed.Options{Store: s.ledger, Policy: deed.FixedPolicy{}})
	if err != nil {
		t.Fatal(err)
	}
	do(t, rt, call("refund:1044:first", `{"order":"1044","amount":1}`), nil)
	if err := rt.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.reopen(t)
	waiting := s.verify(t)
	if waiting.Waiting == 0 || waiting.Found != 0 || waiting.Size != first {
		t.Errorf("before it was logged: %+v", waiting)
	}
	if n := s.append(t); n != waiting.Waiting {
		t.Errorf("%d records came, want %d", n, waiting.Waiting)
	}
	if got := s.verify(t); got.Waiting != 0 || got.Found != 0 || got.Begun != 3 {
		t.Errorf("afterwards: %+v", got)
	}
}

func TestWhatWasDoneToTheLedgerIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		sql  string
		want audit.Finding
	}{
		"an event names another actor": {
			"UPDATE events SET actor = 'somebody' WHERE seq = 1", audit.Finding{Kind: audit.EventChanged, Record: 0},
		},
		"an event came at another time": {"UPDATE events SET at = at + 1 WHERE seq = 2", audit.Finding{Kind: audit.EventChanged, Record: 1}},
		"a refused change is another one": {
			"UPDATE events SET fingerprint = (SELECT fingerprint FROM events WHERE seq = 1) WHERE name = 'conflict'",
			audit.Finding{Kind: audit.EventChanged, Record: -2},
		},
		"what an event tells is changed": {
			`UPDATE events SET data = CAST('{"message":"nothing happened"}' AS BLOB) WHERE name = 'unclear'`, audit.Finding{Kind: audit.EventChanged, Record: -2},
		},
		"a replay is taken out": {"DELETE FROM events WHERE seq = (SELECT min(seq) FROM events WHERE name = 'replay')", audit.Finding{Kind: audit.EventGone, Record: -2}},
		"an event is put in": {
			`UPDATE events SET seq = seq + 1000 WHERE seq > 1;
				INSERT INTO events SELECT 2, replace(id, substr(id, 1, 3), 'abc'), tenant, operation, version, at, name, actor, attempt, status_from, status_to, reason, tool, fingerprint, data
				FROM events WHERE seq = 1`,
			audit.Finding{Kind: audit.EventUnlogged, Record: -1},
		},
		"two events change places": {
			"UPDATE events SET seq = -1 WHERE seq = 1; UPDATE events SET seq = 1 WHERE seq = 2; UPDATE events SET seq = 2 WHERE seq = -1",
			audit.Finding{Kind: audit.EventMoved, Record: 0},
		},
		"an event is there twice": {
			"INSERT INTO events SELECT seq + 1000, id, tenant, operation, version, at, name, actor, attempt, status_from, status_to, reason, tool, fingerprint, data FROM events WHERE seq = 1",
			audit.Finding{Kind: audit.EventRepeated, Record: 0},
		},
		"a time that cannot be written":  {"UPDATE events SET at = 9223372036854775807 WHERE seq = 1", audit.Finding{Kind: audit.EventChanged, Record: 0}},
		"a receipt names another object": {"UPDATE receipts SET remote_id = 're_2'", audit.Finding{Kind: audit.ReceiptsChanged, Record: -2}},
		"a receipt is taken out":         {"DELETE FROM receipts", audit.Finding{Kind: audit.ReceiptsChanged, Record: -2}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.append(t)
			s.change(t, c.sql)
			got := s.verify(t)
			if got.Found == 0 || len(got.Findings) != int(got.Found) {
				t.Fatalf("the report is %+v", got)
			}
			for _, f := range got.Findings {
				if f.Event == "" || f.Operation != s.refund && f.Operation != s.doubt {
					t.Errorf("a finding names the event %q of %q", f.Event, f.Operation)
				}
				if c.want.Record == -2 {
					f.Record = -2
				}
				if diff := cmp.Diff(c.want, f, cmpopts.IgnoreFields(audit.Finding{}, "Event", "Operation")); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			}
		})
	}
}

func TestALogThatHasAnEventTwiceSaysSo(t *testing.T) {
	s := newScene(t)
	s.append(t)
	first := []byte(`{"tenant":"acme","event":"ev_1","version":1,"at":"2026-11-01T12:00:00Z","name":"begun","actor":"support"}`)
	s.grow(t, [][]byte{first, first})
	got, err := s.open(t).Verify(t.Context(), nil, "")
	if err != nil || got.Found != 1 || got.Findings[0].Kind != audit.EventRepeated || got.Findings[0].Event != "ev_1" {
		t.Errorf("the report is %+v, %v", got, err)
	}
}

func TestAnEmptyLogWaitsForEverything(t *testing.T) {
	s := newScene(t)
	got := s.verify(t)
	if n := s.append(t); got.Size != 0 || got.Waiting != n || n == 0 {
		t.Errorf("before %d records came the report was %+v", n, got)
	}
}

func TestTilesThatAreNotThoseOfTheRecordsAreFound(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"a bit":     func(path string) error { return os.WriteFile(path, make([]byte, 32), 0o600) },
		"a file":    os.Remove,
		"a cut one": func(path string) error { return os.Truncate(path, 31) },
	} {
		for _, tile := range []string{"tile/0/001", "tile/0/002.p/44", "tile/1/000.p/2"} {
			t.Run(name+" of "+tile, func(t *testing.T) {
				l := newLog(t)
				l.grow(t, numbered(0, 556))
				if err := spoil(filepath.Join(l.dir, filepath.FromSlash(tile))); err != nil {
					t.Fatal(err)
				}
				if _, err := l.open(t).Verify(t.Context(), nil, ""); !errors.Is(err, audit.ErrInconsistent) {
					t.Errorf("verifying: %v", err)
				}
			})
		}
	}
}

func TestALogThatWasCutBackIsNotWhatWasSigned(t *testing.T) {
	s := newScene(t)
	old, err := os.ReadFile(filepath.Join(s.dir, "checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	s.append(t)
	kept := s.checkpoint(t)
	if err := os.WriteFile(filepath.Join(s.dir, "checkpoint"), old, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.open(t).Verify(t.Context(), s.ledger, "acme", kept); !errors.Is(err, audit.ErrInconsistent) {
		t.Errorf("a log that has an old checkpoint again: %v", err)
	}
}

func TestALogThatWasMadeAnewIsNotWhatWasSigned(t *testing.T) {
	s := newScene(t)
	s.append(t)
	kept := s.checkpoint(t)
	s.change(t, "UPDATE events SET actor = 'somebody' WHERE seq = 1")
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Create(s.dir, s.private); err != nil {
		t.Fatal(err)
	}
	s.append(t)
	if got := s.verify(t); got.Found != 0 {
		t.Errorf("who has the key makes a log that agrees with any ledger, but %+v", got)
	}
	if _, err := s.open(t).Verify(t.Context(), s.ledger, "acme", kept); !errors.Is(err, audit.ErrInconsistent) {
		t.Errorf("beside a checkpoint that was kept: %v", err)
	}
}

func TestFilesOfALogThatAreNotTheirOwnAnyMore(t *testing.T) {
	entries := filepath.Join("tile", "entries")
	for name, spoil := range map[string]func([]byte) []byte{
		"a letter of a record": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"the length of one":    func(b []byte) []byte { b[1]--; return b },
		"the end is cut off":   func(b []byte) []byte { return b[:len(b)-1] },
		"a record more":        func(b []byte) []byte { return append(b, 0, 2, '{', '}') },
		"nothing is left":      func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.append(t)
			files, err := filepath.Glob(filepath.Join(s.dir, entries, "*.p", "*"))
			if err != nil || len(files) != 1 {
				t.Fatalf("%v, %v", files, err)
			}
			data, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(files[0], spoil(data), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := s.open(t).Verify(t.Context(), s.ledger, "acme"); !errors.Is(err, audit.ErrInconsistent) {
				t.Errorf("verifying: %v", err)
			}
		})
	}
}
