// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"encoding/json"
	"os/exec"
	"testing"
)

func TestTheStatusOfALedgerInADatabaseSaysHowLargeItIs(t *testing.T) {
	f := newFleet(t, inPostgreSQL, cluster, 1, nil)
	f.oneExecuted([]verdict{f.charge(doors()[0], 0, "charge:order-1:first", "order-1")})
	said, err := exec.Command(program, "status", "--ledger", f.ledger, "--json").Output()
	f.must(err)
	var told struct {
		Ledger     string
		Bytes      int64
		Operations int
		Statuses   map[string]int
	}
	f.must(json.Unmarshal(said, &told))
	if told.Bytes < 100_000 || told.Operations != 1 || told.Statuses["committed"] != 1 {
		t.Errorf("%s", said)
	}
}
