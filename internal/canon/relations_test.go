// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/deed-run/deed/internal/canon"
)

// relation is one entry of testdata/fingerprint-cases.json: two argument
// documents and what their fingerprints must be to each other.
type relation struct {
	Name   string      `json:"name"`
	A      string      `json:"a"`
	B      string      `json:"b"`
	AHex   string      `json:"a_hex"`
	BHex   string      `json:"b_hex"`
	ToolA  string      `json:"tool_a"`
	ToolB  string      `json:"tool_b"`
	Policy canon.Rules `json:"policy"`
	Expect string      `json:"expect"`
	Why    string      `json:"why"`
}

var withNFC = canon.Options{NFC: norm.NFC.String}

func relations(t *testing.T) []relation {
	t.Helper()
	raw, err := os.ReadFile("testdata/fingerprint-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []relation
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].A, all[i].B = fromHex(t, all[i].A, all[i].AHex), fromHex(t, all[i].B, all[i].BHex)
		if all[i].ToolA == "" {
			all[i].ToolA, all[i].ToolB = "upstream/tool", "upstream/tool"
		}
	}
	return all
}

func fromHex(t *testing.T, text, encoded string) string {
	t.Helper()
	if encoded == "" {
		return text
	}
	raw, err := hex.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func compile(t testing.TB, r canon.Rules) *canon.Program {
	t.Helper()
	p, err := canon.CompileWith(r, withNFC)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// An "error" relation holds when at least one of the two is refused: several
// cases pair a malformed document with a well-formed one.
func TestRelations(t *testing.T) {
	for _, c := range relations(t) {
		t.Run(c.Name, func(t *testing.T) {
			p := compile(t, c.Policy)
			a, errA := p.Fingerprint(c.ToolA, []byte(c.A))
			b, errB := p.Fingerprint(c.ToolB, []byte(c.B))
			got := "different"
			switch {
			case errA != nil || errB != nil:
				got = "error"
			case a == b:
				got = "same"
			}
			if got != c.Expect {
				t.Errorf("got %s, want %s: %s\na: %q %v\nb: %q %v", got, c.Expect, c.Why, c.A, errA, c.B, errB)
			}
		})
	}
}
