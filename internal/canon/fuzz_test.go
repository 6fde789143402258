// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/gowebpki/jcs"

	"github.com/deed-run/deed/internal/canon"
)

// FuzzAgainstJCS compares the ieee754 mode with an independent implementation
// of RFC 8785 and the parser with encoding/json. Where the three accept a
// document they must agree; what only the others accept must be one of the
// refusals that are stricter on purpose.
func FuzzAgainstJCS(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"b":[1,2.50,-0,1e21,1e-7,333333333.33333329],"a":{"\u20ac":"\ud83d\ude00","z":null}}`, `{"a":"\u000f\n\"\\\/"}`,
		`{"1":1,"10":2,"":3,"A":4,"a":5}`, `{"n":5e-324,"m":1.7976931348623157e308}`, "{\"\U00010000\":1,\"\ue000\":2}", `{"a":1,"a":2}`, `{"x":[[],{}]}`,
		"{\"s\":\"\u0080\u007f\"}", `{"a":1e400}`, `{"a":1e-400}`, `{"a":01}`, `{"a":"\ud800"}`, `{"a":1} x`, `[1 2]`, `nul`, `{"a":9007199254740993}`,
	} {
		f.Add([]byte(seed))
	}
	stricter := map[string]bool{
		canon.CodeTooDeep: true, canon.CodeTooLarge: true, canon.CodeNumberTooLong: true, canon.CodeNumberOutOfRange: true, canon.CodeBOM: true,
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		given := bytes.Clone(doc)
		ours, _, err := ieee754Program.Pick(doc, "")
		if !bytes.Equal(doc, given) {
			t.Fatalf("the document was changed to %q", doc)
		}
		theirs, jcsErr := jcs.Transform(doc)
		if err == nil {
			if jcsErr != nil {
				t.Fatalf("accepted %q, jcs: %v", doc, jcsErr)
			}
			if !bytes.Equal(ours, theirs) {
				t.Fatalf("%q: got %q, jcs %q", doc, ours, theirs)
			}
			if !json.Valid(doc) || !utf8.Valid(doc) {
				t.Fatalf("accepted %q, which is not JSON", doc)
			}
			exact, err := canon.CanonicalJSON(doc)
			if err != nil {
				t.Fatalf("%q has no exact form: %v", doc, err)
			}
			if rounded, _, err := ieee754Program.Pick(exact, ""); err == nil && !bytes.Equal(rounded, ours) {
				t.Fatalf("%q: rounding the exact form gives %q, not %q", doc, rounded, ours)
			}
			return
		}
		refusal := err.(*canon.Error)
		if refusal.Code == canon.CodeNotObject {
			return
		}
		if jcsErr == nil && json.Valid(doc) && !stricter[refusal.Code] {
			t.Fatalf("refused %q with %v, jcs gives %q", doc, err, theirs)
		}
	})
}

// FuzzRules feeds hostile arguments to a program that uses every rule: no
// panic, and a fingerprint must not depend on the spelling of the document.
func FuzzRules(f *testing.F) {
	f.Add([]byte(goldenArguments))
	f.Add([]byte(`{"order_id":1,"items":[{"sku":null}]}`))
	f.Add([]byte(`{"order_id":1,"items":[],"to":"a@b","site":"http://[::1]","at":"0000-01-01T00:00:00+00:01"}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		p := compile(t, goldenRules()["every rule"])
		first, err := p.Canonical("u/t", doc)
		if err != nil {
			return
		}
		plain, err := canon.CanonicalJSON(doc)
		if err != nil {
			t.Fatalf("%q: fingerprinted, but not canonical: %v", doc, err)
		}
		if second, err := p.Canonical("u/t", plain); err == nil && !bytes.Equal(first, second) {
			t.Fatalf("%q: got %q, canonical spelling %q", doc, first, second)
		}
	})
}

// FuzzWithout checks the byte surgery on the root object.
func FuzzWithout(f *testing.F) {
	f.Add([]byte(`{"k":1}`), "k")
	f.Add([]byte(`{ "a" : 1 , "\u006b" : {"k":[]} , "b":2 }`), "k")
	f.Fuzz(func(t *testing.T, doc []byte, name string) {
		rest, value, found, err := canon.Without(doc, name)
		if err != nil {
			return
		}
		if !found {
			if !bytes.Equal(rest, doc) {
				t.Fatalf("%q became %q", doc, rest)
			}
			return
		}
		if err := canon.Strict(value); err != nil {
			t.Fatalf("%q: value %q: %v", doc, value, err)
		}
		if _, _, again, err := canon.Without(rest, name); err != nil || again {
			t.Fatalf("%q: the rest %q still has %q, error %v", doc, rest, name, err)
		}
	})
}
