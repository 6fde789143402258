// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed/sqlite"
)

// ledgerFile makes an empty ledger and changes it by SQL.
func ledgerFile(t *testing.T, change string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Exec(change); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// mcpOutput runs a gateway whose client says nothing, and returns its stderr.
func mcpOutput(t *testing.T, ledger string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "mcp", "--ledger", ledger, "--name", "shop", "--", binary, "fixture", "stdio", "--dir", t.TempDir())
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("deed mcp: %v", err)
	}
	return stderr.String()
}

func TestALedgerOfANewerVersionIsToldOfInOneLine(t *testing.T) {
	path := ledgerFile(t, "PRAGMA user_version = 99")
	const told = "it was written by a newer deed: this one answers from it and refuses every mutation; use the newer deed"
	if got := mcpOutput(t, path); got != "deed: ledger "+path+": "+told+"\n" {
		t.Errorf("deed mcp says %q", got)
	}
	if got := deedCommand(t, "status", "--ledger", path); !strings.Contains(got, "\nread only: "+told+"\n") {
		t.Errorf("deed status says\n%s", got)
	}
	if got := deedCommand(t, "status", "--ledger", path, "--json"); !strings.Contains(got, `"written_by_newer": true`) {
		t.Errorf("deed status --json says\n%s", got)
	}
	if got := refusedCommand(t, 1, "doctor", "--ledger", path); strings.Count(got, told) != 1 || strings.Contains(got, "takes writes") {
		t.Errorf("deed doctor says\n%s", got)
	}
	usual := ledgerFile(t, "")
	if got := mcpOutput(t, usual); got != "" {
		t.Errorf("of a usual ledger deed mcp says %q", got)
	}
	if got := deedCommand(t, "status", "--ledger", usual); strings.Contains(got, "newer") {
		t.Errorf("of a usual ledger deed status says\n%s", got)
	}
}

// Every refusal names the ledger once and says once that nothing was changed.
func TestErrorsOfALedgerSayEachThingOnce(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	if err := os.WriteFile(foreign, []byte(strings.Repeat("not a database\n", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	locked := ledgerFile(t, "")
	holder, err := sqlite3.Open(locked)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := holder.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, ledger string
		args         []string
		code         int
	}{
		{"a list of what is no ledger", foreign, []string{"ops", "list"}, 5},
		{"the state of what is no ledger", foreign, []string{"status"}, 5},
		{"an examination of what is no ledger", foreign, []string{"doctor"}, 1},
		{"a gateway on what is no ledger", foreign, []string{"mcp", "--name", "x", "--ledger", foreign, "--", "x"}, 5},
		{"a decision while another process holds the lock", locked, []string{"ops", "cancel", "op_00000000000000000000000000"}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.args[0] != "mcp" {
				c.args = append(c.args, "--ledger", c.ledger)
			}
			got := refusedCommand(t, c.code, c.args...)
			for line := range strings.SplitSeq(got, "\n") {
				if nothing := strings.Count(line, "nothing was"); nothing > 1 || strings.Count(line, "ledger unavailable") > 1 {
					t.Errorf("it says things twice: %s", line)
				}
				if !strings.Contains(line, c.ledger) {
					continue
				}
				if strings.Count(line, c.ledger) > 1 || strings.Contains(line, "chmod") {
					t.Errorf("it names the file twice, or advises a change of what is no ledger: %s", line)
				}
			}
		})
	}
}
