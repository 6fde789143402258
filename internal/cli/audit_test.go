// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed/audit"
)

// TestAChangedLedgerIsToldEventByEvent changes a ledger as its owner could, and
// asks for what is different.
func TestAChangedLedgerIsToldEventByEvent(t *testing.T) {
	s := seed(t)
	log, key := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "key")
	deedCommand(t, "audit", "init", "--log", log, "--key", key, "--name", "audit.example.org/shop")
	s.deed("audit", "append", "--log", log, "--key", key)
	db, err := sqlite3.Open(s.ledger)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Exec(`DROP TRIGGER events_stay; DROP TRIGGER events_remain; DROP TRIGGER receipts_stay;
		UPDATE events SET actor = 'somebody' WHERE seq = 1; DELETE FROM events WHERE seq = 2; UPDATE receipts SET remote_url = 'https://pay.example/b_2'`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	verify := []string{"audit", "verify", "--log", log, "--verifier", key + ".pub", "--config", s.config}
	out, err := exec.Command(binary, verify...).Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("deed audit verify: %v\n%s", err, out)
	}
	for _, want := range []string{
		"THE LEDGER IS NOT WHAT WAS LOGGED: ", "\nthe event was changed  0       ev_", "\nthe event was taken out  1       ev_", "\nreceipts were changed",
		string(s.ids["batch"]),
	} {
		if text := strings.Join(strings.Fields(want), " "); !strings.Contains(strings.Join(strings.Fields(string(out)), " "), text) {
			t.Errorf("nothing says %q:\n%s", text, out)
		}
	}
	out, _ = exec.Command(binary, append(verify, "--json")...).Output()
	var report audit.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	kinds := map[audit.FindingKind]int{}
	for _, f := range report.Findings {
		kinds[f.Kind]++
	}
	if kinds[audit.EventChanged] != 1 || kinds[audit.EventGone] != 1 || kinds[audit.ReceiptsChanged] == 0 || kinds[audit.EventUnlogged] != 0 {
		t.Errorf("the findings are %v", kinds)
	}
}
