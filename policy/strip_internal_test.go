// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"

	"github.com/deed-run/deed"
)

func TestStrippingIsTheReverseOfPlanting(t *testing.T) {
	marks := deed.Marks{Marker: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", ClientID: "c0ffee", ProviderKey: "7f9c"}
	into := func(pointer string) Tool { return Tool{Marker: &Marker{Into: pointer, Template: "{marker}"}} }
	added := Tool{Marker: &Marker{Append: "/text", Template: "\n<!-- {marker} -->"}}
	all := Tool{Marker: &Marker{Into: "/m/op", Template: "op {marker}"}, ClientID: &ClientID{Into: "/m/id"}, ProviderKey: &ProviderKey{Into: "/key"}}
	for _, test := range []struct {
		name string
		tool Tool
		doc  string
	}{
		{"into an empty object", into("/op"), `{}`},
		{"beside others", into("/op"), ` { "a" : 1.0e5 , "b":[1, 2] } `},
		{"deeper", into("/m/op"), `{"m":{"x":12345678901234567890},"n":1}`},
		{"with objects made on the way", into("/m/k~1l/op"), `{"n":{"op":"x"}}`},
		{"into an element", into("/m/1/op"), `{"m":[{"x":1}, {"y":2}]}`},
		{"at the end of a text", added, `{"text":"said \"so\" \u003c","n":1}`},
		{"at the end of an empty text", added, `{"n":1,"text":""}`},
		{"as the only text", added, `{"n":1}`},
		{"everything", all, `{"text":"x"}`},
		{"everything among others", all, `{"m":{"z":[]},"text":"x"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			planted, err := test.tool.plant([]byte(test.doc), marks)
			if err != nil || string(planted) == test.doc {
				t.Fatalf("planted %s, %v", planted, err)
			}
			if got, err := test.tool.strip(planted, marks); err != nil || string(got) != test.doc {
				t.Errorf("got %s, %v; want %s", got, err, test.doc)
			}
			if got, err := test.tool.strip([]byte(test.doc), marks); err != nil || string(got) != test.doc {
				t.Errorf("without a mark: %s, %v", got, err)
			}
			other := marks
			other.Marker, other.ClientID, other.ProviderKey = "ZYXWVUTSRQPONMLKJIHGFEDCBA", "c0ff00", "0000"
			if got, err := test.tool.strip(planted, other); err != nil || string(got) != string(planted) {
				t.Errorf("with another's marks: %s, %v", got, err)
			}
		})
	}
	for _, doc := range []string{`{"m":"text"}`, `{"m":[]}`, `{"m":null}`, `{"m":{"op":{"x":1}}}`} {
		if got, err := into("/m/op").strip([]byte(doc), marks); err != nil || string(got) != doc {
			t.Errorf("%s became %s, %v", doc, got, err)
		}
	}
	if _, err := all.strip([]byte(`{"m":`), marks); err == nil {
		t.Error("what is no JSON was taken")
	}
}
