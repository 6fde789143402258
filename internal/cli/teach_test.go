// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

func TestErrorsOfToolsAreCounted(t *testing.T) {
	s := seed(t)
	got := s.deed("tools", "errors")
	holds(t, got, "pay/charge  2      uncertain (tool_error)", "invalid project *", "failed (refused)", "card expired",
		"deed tools teach pay/charge --text '^invalid project ' --dry-run --config "+s.config)
	holds(t, s.deed("tools", "errors", "--tool", "pay/batch"), "no error answers of pay/batch in the ledger ")
	holds(t, s.deed("tools", "errors", "--json"), `"count": 2`)
}

func TestATaughtTextSettlesOnlyWhatItIsAbout(t *testing.T) {
	s := seed(t)
	teach := []string{"tools", "teach", "pay/charge", "--text", "^invalid project"}
	holds(t, s.deed(append(teach, "--dry-run")...), `+       - {text: "^invalid project"}`, "2 past calls would be settled, 0 left", "nothing was written",
		"deed tools teach pay/charge --text '^invalid project' --config "+s.config)
	if got := read(t, s.config); got != seededRules {
		t.Fatalf("a dry run changed the file:\n%s", got)
	}
	holds(t, s.deed("ops", "list", "--status", "uncertain"), string(s.ids["project 7"]))

	holds(t, s.deed(teach...), "2 past calls settled, 0 left", "the file before is ")
	want := strings.Replace(seededRules, "# seen often\n", "# seen often\n      - {text: \"^invalid project\"}\n", 1)
	if got := read(t, s.config); got != want {
		t.Errorf("the file is now\n%s", got)
	}
	backups, err := filepath.Glob(s.config + ".before-*")
	if err != nil || len(backups) != 1 || read(t, backups[0]) != seededRules {
		t.Errorf("the copies: %v %v", backups, err)
	}
	holds(t, deedCommand(t, "config", "check", s.config), "is in order")
	for name, status := range map[string]string{"project 7": "failed", "project 8": "failed", "quota": "uncertain", "lost": "uncertain", "refund": "uncertain"} {
		holds(t, strings.Join(strings.Fields(s.show(name)), " "), " status "+status)
	}
	holds(t, s.show("project 7"), `by the rule failed: text "^invalid project" of pay/charge (deed tools teach)`, "resolved_not_applied")
	// Taught again it changes nothing.
	holds(t, s.deed(teach...), "has this rule already", "0 past calls settled")
}

func TestWhatTeachesTooMuchIsRefused(t *testing.T) {
	s := seed(t)
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"a pattern that fits everything", []string{"pay/charge", "--text", ".*"}, "fits an empty text"},
		{"no expression", []string{"pay/charge", "--text", "("}, "write an RE2 expression"},
		{"no tool", []string{"charge", "--text", "^x"}, "names no upstream"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := refusedCommand(t, 2, append(append([]string{"tools", "teach"}, c.args...), "--config", s.config)...)
			holds(t, got, c.says, "nothing was done")
		})
	}
	refusedCommand(t, 2, "tools", "teach", "pay/charge", "--text", "^x")
	if got := read(t, s.config); got != seededRules {
		t.Errorf("the file was changed:\n%s", got)
	}
}
