// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/deed-run/deed/internal/canon"
)

func TestStrictReadsAnyJSONText(t *testing.T) {
	for _, doc := range []string{`1`, `"a"`, `null`, ` [true,false] `, `{"a":{"b":[]}}`} {
		if err := canon.Strict([]byte(doc)); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
	for doc, code := range map[string]string{
		`{"params":{"a":1,"\u0061":2}}`: canon.CodeDuplicateMember,
		`1 2`:                           canon.CodeTrailingData,
		`"` + strings.Repeat("x", int(canon.MaxMessageBytes)) + `"`: canon.CodeTooLarge,
	} {
		var refusal *canon.Error
		if err := canon.Strict([]byte(doc)); !errors.As(err, &refusal) || refusal.Code != code {
			t.Errorf("got %v, want %s", err, code)
		}
	}
}

func TestCanonicalJSON(t *testing.T) {
	cases := []struct{ in, want string }{
		{`-0.0`, `0`}, {`1e21`, `1e+21`}, {`123456789012345678901`, `123456789012345678901`}, {`1234567890123456789012`, `1.234567890123456789012e+21`},
		{`0.0000010`, `0.000001`}, {`0.0000001`, `1e-7`}, {`-12.50e1`, `-125`}, {`1.5e300`, `1.5e+300`}, {`100e-2`, `1`}, {`12345e-3`, `12.345`},
		{`["\u007f\u2028\"\\\/\b\f\n\r\t\u0001"]`, "[\"\u007f\u2028\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\"]"},
		{"{\"\uffff\":1,\"\U00010000\":2,\"\ue000\":3,\"a\":4,\"\":5,\"aa\":6}", "{\"\":5,\"a\":4,\"aa\":6,\"\U00010000\":2,\"\ue000\":3,\"\uffff\":1}"},
	}
	for _, c := range cases {
		if got := canonical(t, c.in); got != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
	}
	if _, err := canon.CanonicalJSON([]byte(`{`)); err == nil {
		t.Error("a broken document has a canonical form")
	}
}

func TestPick(t *testing.T) {
	const doc = `{"a":{"b":[10, {"c~/d":1.50}]},"n":null,"":"empty","*":7}`
	cases := []struct {
		pointer, want string
		found         bool
	}{
		{"/a/b/0", `10`, true}, {"/a/b/1/c~0~1d", `1.5`, true}, {"/a", `{"b":[10,{"c~/d":1.5}]}`, true},
		{"/n", `null`, true}, {"/", `"empty"`, true}, {"", canonical(t, doc), true},
		{"/x", ``, false}, {"/a/b/2", ``, false}, {"/a/b/00", ``, false}, {"/a/b/-", ``, false}, {"/n/x", ``, false},
	}
	for _, c := range cases {
		got, found, err := canon.Pick([]byte(doc), c.pointer)
		if err != nil || found != c.found || string(got) != c.want {
			t.Errorf("%q: got %s, %t, %v, want %s, %t", c.pointer, got, found, err, c.want, c.found)
		}
	}
	for _, pointer := range []string{"a", "/a/*", "/~2"} {
		var refusal *canon.Error
		if _, _, err := canon.Pick([]byte(doc), pointer); !errors.As(err, &refusal) || refusal.Code != canon.CodeInvalidPointer {
			t.Errorf("%q: got %v, want %s", pointer, err, canon.CodeInvalidPointer)
		}
	}
	if _, _, err := canon.Pick([]byte(`{"a":1,"a":2}`), "/b"); err == nil {
		t.Error("a value was picked from an ambiguous document")
	}
}

func TestProgramPickSeesTheRules(t *testing.T) {
	p := compile(t, goldenRules()["every rule"])
	for pointer, want := range map[string]string{"/currency": `"EUR"`, "/amount": `10.5`, "/items/1/unit": `"piece"`, "/cc": `[]`} {
		if got, found, err := p.Pick([]byte(goldenArguments), pointer); err != nil || !found || string(got) != want {
			t.Errorf("%s: got %s, %t, %v, want %s", pointer, got, found, err, want)
		}
	}
	if _, found, err := p.Pick([]byte(goldenArguments), "/note"); err != nil || found {
		t.Errorf("an excluded field was picked, error %v", err)
	}
	if _, _, err := p.Pick([]byte(goldenArguments), "note"); err == nil {
		t.Error("an invalid pointer was accepted")
	}
	if _, _, err := p.Pick([]byte(`{`), "/note"); err == nil {
		t.Error("a broken document was accepted")
	}
	interop := compile(t, canon.Rules{Numbers: "interop"})
	_, _, err := interop.Pick([]byte(`{"a":{"b":9007199254740993}}`), "/a")
	var refusal *canon.Error
	if !errors.As(err, &refusal) || refusal.Pointer != "/a/b" {
		t.Errorf("got %v, want a refusal at /a/b", err)
	}
}

func TestWithoutKeepsEveryOtherByte(t *testing.T) {
	cases := []struct{ name, in, want, value string }{
		{"the only member", ` { "k" : "v" } `, ` {  } `, `"v"`},
		{"the first member", `{ "k":1 , "b":2 }`, `{ "b":2 }`, `1`},
		{"a middle member", `{"a":1, "k": {"x":[1, 2]} ,"b":2}`, `{"a":1 ,"b":2}`, `{"x":[1, 2]}`},
		{"the last member", "{\"b\":1,\n \"a\":1.0 , \"k\":null\n}", "{\"b\":1,\n \"a\":1.0 \n}", `null`},
		{"an escaped name", `{"\u006b":true,"a":"\u0041"}`, `{"a":"\u0041"}`, `true`},
		{"order and spelling stay", `{"z":1E2,"k":0,"a":[ ],"m":{"k":1}}`, `{"z":1E2,"a":[ ],"m":{"k":1}}`, `0`},
	}
	for _, c := range cases {
		in := []byte(c.in)
		rest, value, found, err := canon.Without(in, "k")
		if err != nil || !found || string(rest) != c.want || string(value) != c.value {
			t.Errorf("%s: got %q, %s, %t, %v, want %q, %s", c.name, rest, value, found, err, c.want, c.value)
		}
		if string(in) != c.in {
			t.Errorf("%s: the arguments were changed to %s", c.name, in)
		}
		if err := canon.Strict(rest); err != nil {
			t.Errorf("%s: the rest is damaged: %v", c.name, err)
		}
	}
}

func TestWithoutAnAbsentMemberReturnsTheSameBytes(t *testing.T) {
	const in = ` {"a":{"k":1},"b":[{"k":2}]} `
	rest, value, found, err := canon.Without([]byte(in), "k")
	if err != nil || found || value != nil || string(rest) != in {
		t.Errorf("got %s, %s, %t, %v", rest, value, found, err)
	}
}

func TestWithoutRefusesAmbiguousDocuments(t *testing.T) {
	for doc, code := range map[string]string{`{"k":1,"k":2}`: canon.CodeDuplicateMember, `[{"k":1}]`: canon.CodeNotObject, `{"k":1`: canon.CodeSyntax} {
		var refusal *canon.Error
		if _, _, _, err := canon.Without([]byte(doc), "k"); !errors.As(err, &refusal) || refusal.Code != code {
			t.Errorf("%s: got %v, want %s", doc, err, code)
		}
	}
}
