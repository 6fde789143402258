// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"strings"
	"testing"
)

func TestALedgerThatIsNamedWronglyTellsNoPassword(t *testing.T) {
	for _, address := range []string{
		"postgres://deed:zebra@fish/tail@127.0.0.1:9/deed",
		"postgres://deed:12/tail@127.0.0.1:9/deed",
		"postgres://deed:zebrafish@127.0.0.1:9",
		"postgres://deed:zebra#fish@127.0.0.1:9/deed",
		"postgres:/deed:zebrafish@127.0.0.1:9/deed",
		"Postgres://deed:zebrafish@127.0.0.1:9/deed",
		"postgre://deed:zebrafish@127.0.0.1:9/deed",
	} {
		for _, command := range [][]string{{"ops", "list"}, {"status"}} {
			got := refusedCommand(t, 2, append(command, "--ledger", address)...)
			if !strings.Contains(got, "--ledger: the address of the ledger ") || strings.Count(got, "\n") != 1 {
				t.Errorf("deed %s --ledger %s says\n%s", strings.Join(command, " "), address, got)
			}
			for _, part := range []string{"zebra", "fish", "tail"} {
				if strings.Contains(got, part) {
					t.Errorf("deed %s --ledger %s tells %q:\n%s", strings.Join(command, " "), address, part, got)
				}
			}
		}
	}
}
