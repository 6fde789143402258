// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package rawjson_test

import (
	"encoding/json"
	"testing"

	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

func TestSetKeepsEveryOtherByte(t *testing.T) {
	for _, c := range []struct {
		name, doc, value string
		path             []string
		want             string
	}{
		{"a member is replaced where it stands", `{ "b" : 9007199254740993 ,"a":1.0}`, `2`, []string{"a"}, `{ "b" : 9007199254740993 ,"a":2}`},
		{"a new member comes last", `{"b": "\ud800" }`, `true`, []string{"x"}, `{"b": "\ud800","x":true }`},
		{"an empty object takes a member", `{ }`, `1`, []string{"x"}, `{"x":1 }`},
		{"missing objects on the way are made", `{"a":1}`, `"v"`, []string{"_meta", "deed/operation"}, `{"a":1,"_meta":{"deed/operation":"v"}}`},
		{"a name written with escapes is found", `{"\u0061":1}`, `2`, []string{"a"}, `{"\u0061":2}`},
		{"names are escaped when written", `{}`, `1`, []string{"<q\"\\>"}, `{"<q\"\\>":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := rawjson.Set([]byte(c.doc), []byte(c.value), c.path...)
			if err != nil || string(got) != c.want {
				t.Fatalf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestRemoveKeepsEveryOtherByte(t *testing.T) {
	for _, c := range []struct {
		name, doc string
		path      []string
		want      string
		found     bool
	}{
		{"the first", `{"a":1, "b":2}`, []string{"a"}, `{"b":2}`, true},
		{"the middle", `{"a":1, "b":2 ,"c":3}`, []string{"b"}, `{"a":1, "c":3}`, true},
		{"the last", `{"a":1, "b":2 }`, []string{"b"}, `{"a":1 }`, true},
		{"the only one", `{ "a":1 }`, []string{"a"}, `{  }`, true},
		{"one inside", `{"x":{"a":[1,{}],"b":2}}`, []string{"x", "b"}, `{"x":{"a":[1,{}]}}`, true},
		{"none", `{"x":{"a":1}}`, []string{"x", "b"}, `{"x":{"a":1}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, found, err := rawjson.Remove([]byte(c.doc), c.path...)
			if err != nil || string(got) != c.want || found != c.found {
				t.Fatalf("got %s, %v, %v; want %s", got, found, err, c.want)
			}
		})
	}
}

func TestArraysAreEditedInPlace(t *testing.T) {
	doc := []byte(`[ {"a":1} , {"b":2}, 3 ]`)
	got, err := rawjson.EditElements(doc, func(i int, e json.RawMessage) (json.RawMessage, error) {
		if i == 1 {
			return rawjson.Set(e, []byte("7"), "b")
		}
		return e, nil
	})
	if err != nil || string(got) != `[ {"a":1} , {"b":7}, 3 ]` {
		t.Fatalf("got %s, %v", got, err)
	}
	got, err = rawjson.EditElements(doc, func(i int, e json.RawMessage) (json.RawMessage, error) {
		if i == 1 {
			return nil, nil
		}
		return e, nil
	})
	if err != nil || string(got) != `[{"a":1},3]` {
		t.Fatalf("got %s, %v", got, err)
	}
	if got, err = rawjson.Append(doc, []byte("4")); err != nil || string(got) != `[ {"a":1} , {"b":2}, 3 ,4]` {
		t.Fatalf("got %s, %v", got, err)
	}
}

func TestBrokenDocumentsAreErrors(t *testing.T) {
	for _, doc := range []string{``, `{`, `{"a"}`, `{"a":1,}`, `{"a":01}`, `{"a":1}x`, `[1 2]`, "{\"a\":\"\n\"}", `{"a":"\x"}`, `{"a":tru}`, `{"a":-}`, `{"a":1.}`, `{"a":1e}`} {
		if _, err := rawjson.Members([]byte(doc)); err == nil {
			t.Errorf("%q was read as an object", doc)
		}
	}
}

func FuzzScannerAgreesWithEncodingJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":null}],"c":"\u00e9\ud800"}`, `{"a":1e400}`, `{"":""}`, `{"a":-0.0}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if !rawjson.IsObject(doc) {
			return
		}
		_, err := rawjson.Members(doc)
		if valid := json.Valid(doc); valid != (err == nil) {
			t.Fatalf("%q: encoding/json says %v, the scanner %v", doc, valid, err)
		}
	})
}
