// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"testing"

	"github.com/deed-run/deed/policy"
)

func TestALineOfTheLogNamesCommandsThatFindItsLedger(t *testing.T) {
	inFile := func(file, ledger string) *policy.Config {
		return &policy.Config{File: file, Ledger: policy.Ledger{Path: ledger}}
	}
	for _, c := range []struct {
		config *policy.Config
		at     Place
		want   string
	}{
		{inFile("/srv/deed.yaml", "/srv/deed.db"), "/srv/deed.db", "deed ops show op_1 --config /srv/deed.yaml"},
		{inFile("/srv/deed.yaml", "/srv/deed.db"), "/srv/other.db", "deed ops show op_1 --config /srv/deed.yaml --ledger /srv/other.db"},
		{inFile("/srv/my rules.yaml", ""), "/home/a/ledger.db", "deed ops show op_1 --config '/srv/my rules.yaml' --ledger /home/a/ledger.db"},
		{inFile("", ""), "/home/a/ledger.db", "deed ops show op_1 --ledger /home/a/ledger.db"},
		{inFile("", ""), "postgres://deed:secret@db/deed", "deed ops show op_1 --ledger postgres://deed@db/deed"},
	} {
		if got := leadingTo(c.config, c.at).command("ops show", "op_1"); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got, want := leadingTo(inFile("deed.yaml", ""), "").command("doctor"), "deed doctor --config "+whole("deed.yaml"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
