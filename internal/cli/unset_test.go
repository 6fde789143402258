// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who decides about one server's calls need not hold the secrets of all of them.
func TestWhoApprovesNeedsNoSecretOfAServer(t *testing.T) {
	config := filepath.Join(t.TempDir(), "deed.yaml")
	write := func(rules string) {
		if err := os.WriteFile(config, []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, decision := range []string{"approve", "deny"} {
		write(shortRules)
		op := proposed(t, config, 0)
		write(strings.Replace(shortRules, "no-such-server]", "no-such-server], env: {TOKEN: \"${SECRET_THAT_NOBODY_SETS}\"}", 1))
		got := deedCommand(t, "ops", decision, string(op.ID), "--digest", string(op.Approval.Digest), "--reason", "seen", "--config", config)
		want := map[string]string{"approve": " is authorized", "deny": " is denied"}[decision]
		if !strings.Contains(got, string(op.ID)+want) {
			t.Errorf("deed ops %s says %s", decision, got)
		}
		if err := os.Remove(filepath.Join(filepath.Dir(config), "ledger.db")); err != nil {
			t.Fatal(err)
		}
	}
}
