// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// Of a damaged record nothing is shown or sent, and a person may still settle it.
func TestADamagedRecordIsStillSettled(t *testing.T) {
	s := seed(t)
	db, err := sqlite3.Open(s.ledger)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Exec(`UPDATE arguments SET bytes = CAST(replace(CAST(bytes AS TEXT), '12.5', '1250') AS BLOB)`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	wire, lost := string(s.ids["wire"]), string(s.ids["lost"])
	shown := refusedCommand(t, 1, "ops", "show", wire, "--config", s.config)
	deny := regexp.MustCompile(`deed (ops deny ` + wire + ` --digest sha256:[0-9a-f]{64} --reason "why" --config \S+)`).FindStringSubmatch(shown)
	holds(t, shown, "the record is damaged", "neither shown nor sent, and it is awaiting_approval", "restore the ledger, or settle it without them", "deed ops cancel "+wire)
	if deny == nil || strings.Contains(shown, "1250") || strings.Contains(shown, "approve") {
		t.Fatalf("it does not say how it is settled:\n%s", shown)
	}
	holds(t, refusedCommand(t, 1, "ops", "show", lost, "--config", s.config), "deed ops resolve "+lost+` --not-applied --reason "how you know"`)
	digest := regexp.MustCompile(`sha256:[0-9a-f]{64} `).FindString(deny[1])
	holds(t, refusedCommand(t, 1, "ops", "approve", wire, "--digest", strings.TrimSpace(digest), "--config", s.config), "nothing was changed", deny[1])
	server := serving(t, s.config)
	holds(t, refusedCommand(t, 1, "ops", "show", wire, "--server", server), "the record is damaged", "deed ops deny "+wire+" --digest "+digest+`--reason "why" --server `+server)
	holds(t, s.deed("ops", "resolve", string(s.ids["lost"]), "--not-applied", "--reason", "the account shows none"), "is failed (decided by a person")
	holds(t, s.deed("ops", "cancel", string(s.ids["wire"]), "--reason", "the record is damaged"), "cancelled")
	holds(t, s.deed("stats"), "pay/charge  5")
}
