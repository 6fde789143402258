// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector/mail"
)

func TestTheMarkerIsTakenOutWhereItWasPlanted(t *testing.T) {
	planting := (&mail.Account{}).Planting("mail_send")
	marks := deed.Marks{Marker: "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
	for _, arguments := range []string{`{}`, `{"to":["anna@acme.example"], "subject":"x"}`} {
		sent, err := planting.Plant([]byte(arguments), marks)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := planting.Strip(sent, marks); err != nil || string(got) != arguments {
			t.Errorf("%s became %s, %v", sent, got, err)
		}
	}
	for given, want := range map[string]string{
		"{\n \"operation_marker\": \"ABCDEFGHIJKLMNOPQRSTUVWXYZ\",\n \"subject\": \"x\"}": `{"subject": "x"}`,
		`{"operation_marker":"ZYXWVUTSRQPONMLKJIHGFEDCBA","subject":"x"}`:                 `{"operation_marker":"ZYXWVUTSRQPONMLKJIHGFEDCBA","subject":"x"}`,
		`{"subject":"\"operation_marker\":\"ABCDEFGHIJKLMNOPQRSTUVWXYZ\","}`:              `{"subject":"\"operation_marker\":\"ABCDEFGHIJKLMNOPQRSTUVWXYZ\","}`,
	} {
		if got, err := planting.Strip([]byte(given), marks); err != nil || string(got) != want {
			t.Errorf("%s became %s, %v; want %s", given, got, err, want)
		}
	}
}
