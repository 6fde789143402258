// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon_test

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/internal/canon"
)

func TestRFC8785Vectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/rfc8785.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Documents []struct{ Name, Input, Output string }
		Numbers   []struct{ Bits, Text string }
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Documents) != 6 || len(vectors.Numbers) != 24 {
		t.Fatalf("%d documents and %d numbers, want 6 and 24", len(vectors.Documents), len(vectors.Numbers))
	}
	for _, v := range vectors.Documents {
		if diff := cmp.Diff(v.Output, ieee754(t, v.Input)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", v.Name, diff)
		}
	}
	for _, v := range vectors.Numbers {
		bits, err := strconv.ParseUint(v.Bits, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		// 25 significant digits identify a float64 without being its
		// shortest text.
		literal := strconv.FormatFloat(math.Float64frombits(bits), 'e', 24, 64)
		if got := ieee754(t, literal); got != v.Text {
			t.Errorf("%s (%s): got %s, want %s", v.Bits, literal, got, v.Text)
		}
		if got := canonical(t, v.Text); got != v.Text {
			t.Errorf("exact numbers change the shortest text %s to %s", v.Text, got)
		}
	}
}

func TestRFC8785SectionExamples(t *testing.T) {
	cases := []struct{ section, in, want string }{
		{
			"3.2.2 primitive types",
			`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001], "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		{
			"3.2.3 member order",
			`{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, ieee754(t, c.in)); diff != "" {
			t.Errorf("section %s (-want +got):\n%s", c.section, diff)
		}
	}
}

var ieee754Program = func() *canon.Program {
	p, err := canon.Compile(canon.Rules{Numbers: "ieee754"})
	if err != nil {
		panic(err)
	}
	return p
}()

// ieee754 is the pure RFC 8785 form of any JSON value.
func ieee754(t testing.TB, doc string) string {
	t.Helper()
	got, found, err := ieee754Program.Pick([]byte(`{"value":`+doc+`}`), "/value")
	if err != nil || !found {
		t.Fatalf("%s: found %t, error %v", doc, found, err)
	}
	return string(got)
}

func canonical(t testing.TB, doc string) string {
	t.Helper()
	got, err := canon.CanonicalJSON([]byte(doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return string(got)
}
