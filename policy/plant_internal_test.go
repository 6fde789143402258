// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEditingKeepsEveryOtherByte(t *testing.T) {
	set := func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`"M"`), nil }
	for _, test := range []struct{ name, doc, pointer, want string }{
		{"into an empty object", `{}`, "/a", `{"a":"M"}`},
		{"into an empty object with space", " { } ", "/a", ` {"a":"M" } `},
		{"behind the last member", `{ "x" : 1.0e5 , "y":[1, 2] }`, "/a", `{ "x" : 1.0e5 , "y":[1, 2],"a":"M" }`},
		{"in the place of a value", `{"a" : {"deep":[1,"}"]} ,"b":2}`, "/a", `{"a" : "M" ,"b":2}`},
		{"deeper", `{"m":{"x":12345678901234567890},"n":1}`, "/m/op", `{"m":{"x":12345678901234567890,"op":"M"},"n":1}`},
		{"with objects made on the way", `{"n":1}`, "/m/k~1l/op", `{"n":1,"m":{"k/l":{"op":"M"}}}`},
		{"a null on the way is no object yet", `{"m":null}`, "/m/op", `{"m":{"op":"M"}}`},
		{"into an element", `{"m":[{"x":1}, {"y":2}]}`, "/m/1/op", `{"m":[{"x":1}, {"y":2,"op":"M"}]}`},
		{"an element itself", `{"m":[true, false]}`, "/m/0", `{"m":["M", false]}`},
		{"a name with an escape", `{"\u0061":1}`, "/a", `{"\u0061":"M"}`},
		{"a text that looks like JSON", `{"s":"{\"a\":1, \\","a":1}`, "/a", `{"s":"{\"a\":1, \\","a":"M"}`},
		{"a name with a slash", `{"a/b":1,"c~d":{}}`, "/c~0d/a~1b", `{"a/b":1,"c~d":{"a/b":"M"}}`},
		{"an empty name", `{"":1}`, "/", `{"":"M"}`},
		{"numbers and words", `{"a":true,"b":null,"c":-1e-5,"d":1}`, "/d", `{"a":true,"b":null,"c":-1e-5,"d":"M"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := edited([]byte(test.doc), test.pointer, set)
			if err != nil || string(got) != test.want {
				t.Errorf("got %s, %v; want %s", got, err, test.want)
			}
		})
	}
	for _, test := range []struct{ name, doc, pointer, wrong string }{
		{"through a text", `{"a":"x"}`, "/a/b", "no object"},
		{"past the end of a list", `{"a":[1]}`, "/a/1", "no element"},
		{"a list has no names", `{"a":[1]}`, "/a/x", "no element"},
		{"no JSON", `{"a":`, "/a", ""},
		{"a member twice", `{"a":1,"a":2}`, "/b", "a"},
		{"no object", `[]`, "/a", "no element"},
		{"a text", `"x"`, "/a", "no object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := edited([]byte(test.doc), test.pointer, set)
			if err == nil || !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

// FuzzEdited: whatever is edited stays JSON, holds the value at its place, and
// loses nothing else.
func FuzzEdited(f *testing.F) {
	f.Add(`{"a":{"b":[1,2,{"c":"\u007d"}]},"d":null}`, "/a/b/2/c")
	f.Add(`{ "x" : -1.5e3 }`, "/y/z")
	f.Fuzz(func(t *testing.T, doc, pointer string) {
		if !strings.HasPrefix(pointer, "/") {
			return
		}
		if _, _, err := pick([]byte(`{}`), pointer); err != nil {
			return
		}
		got, err := edited([]byte(doc), pointer, func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`"M"`), nil })
		if err != nil {
			return
		}
		if value, found, err := pick(got, pointer); err != nil || !found || string(value) != `"M"` {
			t.Fatalf("%q at %q became %q: %s, %v", doc, pointer, got, value, err)
		}
		back, err := edited(got, pointer, func(old json.RawMessage) (json.RawMessage, error) { return old, nil })
		if err != nil || string(back) != string(got) {
			t.Fatalf("editing nothing changed %q to %q (%v)", got, back, err)
		}
	})
}
