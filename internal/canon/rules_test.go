// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/internal/canon"
)

func TestRulesShapeTheEffect(t *testing.T) {
	defaults := func(pairs ...string) map[string]json.RawMessage {
		m := map[string]json.RawMessage{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = json.RawMessage(pairs[i+1])
		}
		return m
	}
	cases := []struct {
		name     string
		rules    canon.Rules
		in, want string
	}{
		{"a default fills an absent member", canon.Rules{Defaults: defaults("/c", `"EUR"`)}, `{"d":1,"a":2}`, `{"a":2,"c":"EUR","d":1}`},
		{"a default leaves null alone", canon.Rules{Defaults: defaults("/c", `1`)}, `{"c":null}`, `{"c":null}`},
		{"a default stands in for a null that counts as absent", canon.Rules{Defaults: defaults("/c", `1`), NullIsAbsent: []string{"/c"}}, `{"c":null}`, `{"c":1}`},
		{"a default stands in for an empty value that counts as absent", canon.Rules{Defaults: defaults("/c", `1`), EmptyIsAbsent: []string{"/*"}}, `{"c":""}`, `{"c":1}`},
		{"a null default that counts as absent is removed", canon.Rules{Defaults: defaults("/c", `null`), NullIsAbsent: []string{"/c"}}, `{}`, `{}`},
		{"a default needs its object", canon.Rules{Defaults: defaults("/o/c", `1`)}, `{}`, `{}`},
		{"an outer default is completed by an inner one", canon.Rules{Defaults: defaults("/o/c", `1`, "/o", `{}`)}, `{}`, `{"o":{"c":1}}`},
		{"a default in every element", canon.Rules{Defaults: defaults("/i/*/q", `[1]`), Unordered: map[string]string{"/i/*/q": "set"}}, `{"i":[{},{"q":[3,2]},7]}`, `{"i":[{"q":[1]},{"q":[2,3]},7]}`},
		{"a default under an index does not extend an array", canon.Rules{Defaults: defaults("/i/0", `1`)}, `{"i":[]}`, `{"i":[]}`},

		{"nulls of every member", canon.Rules{NullIsAbsent: []string{"/*"}}, `{"a":null,"b":1,"c":null,"d":[null]}`, `{"b":1,"d":[null]}`},
		{"nulls of elements stay", canon.Rules{NullIsAbsent: []string{"/a/*", "/a/0"}}, `{"a":[null,1]}`, `{"a":[null,1]}`},
		{"an object emptied by one rule is absent by the other", canon.Rules{NullIsAbsent: []string{"/o/a"}, EmptyIsAbsent: []string{"/o"}}, `{"o":{"a":null}}`, `{}`},
		{"inner empties go before outer ones", canon.Rules{EmptyIsAbsent: []string{"/o", "/o/a"}}, `{"o":{"a":[]}}`, `{}`},
		{"empty string, list and object", canon.Rules{EmptyIsAbsent: []string{"/*"}}, `{"a":"","b":[],"c":{},"d":0,"e":false,"f":null}`, `{"d":0,"e":false,"f":null}`},

		{"exclude removes a member of each element", canon.Rules{Exclude: []string{"/i/*/t"}}, `{"i":[{"t":1,"a":1},{"t":2},3]}`, `{"i":[{"a":1},{},3]}`},
		{"exclude by index counts from the arguments", canon.Rules{Exclude: []string{"/i/0", "/i/2"}}, `{"i":["a","b","c"]}`, `{"i":["b"]}`},
		{"exclude with an index that JSON pointers do not know", canon.Rules{Exclude: []string{"/i/00", "/i/-", "/i/9"}}, `{"i":["a"]}`, `{"i":["a"]}`},
		{"exclude an escaped name", canon.Rules{Exclude: []string{"/a~1b~0", "/"}}, `{"a/b~":1,"":2,"c":3}`, `{"c":3}`},
		{"exclude a name outside ASCII", canon.Rules{Exclude: []string{"/é"}}, `{"\u00e9":1}`, `{}`},
		{"an excluded array element may hold anything", canon.Rules{Exclude: []string{"/i/*"}}, `{"i":[1,2]}`, `{"i":[]}`},

		{"include keeps the path", canon.Rules{Include: []string{"/o/id"}}, `{"o":{"id":1}}`, `{"o":{"id":1}}`},
		{"include keeps containers that hold nothing listed", canon.Rules{Include: []string{"/o/id"}, Exclude: []string{"/o/x"}}, `{"o":{"x":1}}`, `{"o":{}}`},
		{"include keeps a scalar where only members are listed", canon.Rules{Include: []string{"/o/id"}}, `{"o":"flat"}`, `{"o":"flat"}`},
		{"include drops a container that held excluded values only", canon.Rules{Include: []string{"/a"}, Exclude: []string{"/m/t", "/n/*/t"}}, `{"a":1,"m":{"t":1},"n":[{"t":1},{}]}`, `{"a":1}`},
		{"include through every element", canon.Rules{Include: []string{"/i/*/s"}, Unlisted: "ignore"}, `{"i":[{"s":1,"x":2},{"x":3},4],"y":5}`, `{"i":[{"s":1},{},4]}`},
		{"include an element beyond the ninth", canon.Rules{Include: []string{"/i/11"}, Unlisted: "ignore"}, `{"i":[0,1,2,3,4,5,6,7,8,9,10,11,12]}`, `{"i":[11]}`},
		{"a wildcard include beside a longer named one", canon.Rules{Include: []string{"/i/*", "/i/a/x"}}, `{"i":{"a":{"x":1,"y":2}}}`, `{"i":{"a":{"x":1,"y":2}}}`},
		{"a longer include beside its prefix", canon.Rules{Include: []string{"/o", "/o/id"}}, `{"o":{"id":1,"x":2}}`, `{"o":{"id":1,"x":2}}`},

		{"unordered inner arrays before outer ones", canon.Rules{Unordered: map[string]string{"/g": "set", "/g/*": "set"}}, `{"g":[[2,1],[1,2,2],[]]}`, `{"g":[[1,2],[]]}`},
		{"a multiset keeps repetitions", canon.Rules{Unordered: map[string]string{"/g": "multiset"}}, `{"g":[{"b":1,"a":1},1,{"a":1.0,"b":1}]}`, `{"g":[1,{"a":1,"b":1},{"a":1,"b":1}]}`},
		{"unordered leaves other kinds alone", canon.Rules{Unordered: map[string]string{"/g": "set", "/h": "set"}}, `{"g":"ba","h":{"b":1,"a":1}}`, `{"g":"ba","h":{"a":1,"b":1}}`},

		{"decimal strings stay exact under ieee754", canon.Rules{Numbers: "ieee754", Normalize: map[string][]string{"/a": {"decimal"}}}, `{"a":"9007199254740993","b":9007199254740993}`, `{"a":9007199254740993,"b":9007199254740992}`},
		{"interop accepts what float64 holds", canon.Rules{Numbers: "interop"}, `{"a":[0.1,1E3,9007199254740992,1e-7,-0]}`, `{"a":[0.1,1000,9007199254740992,1e-7,0]}`},
		{"more than a dozen members", canon.Rules{Exclude: []string{"/k"}, Defaults: defaults("/p", `0`)}, `{"n":0,"m":0,"l":0,"k":0,"j":0,"i":0,"h":0,"g":0,"f":0,"e":0,"d":0,"c":0,"b":0,"a":0}`, `{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"l":0,"m":0,"n":0,"p":0}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := compile(t, c.rules).Canonical("u/t", []byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(`{"args":`+c.want+`,"tool":"u/t","v":"jx1"}`, string(got)); diff != "" {
				t.Errorf("canonical bytes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEqualRulesHaveOneHash(t *testing.T) {
	a := compile(t, canon.Rules{
		Include: []string{"/b", "/a", "/b"}, Exclude: []string{"/d", "/c"}, Numbers: "exact", Unlisted: "error", MaxBytes: canon.DefaultMaxBytes,
		Defaults: map[string]json.RawMessage{"/a": json.RawMessage(` { "y":1.0, "x":"\u0041" } `)},
	})
	b := compile(t, canon.Rules{
		Include: []string{"/a", "/b"}, Exclude: []string{"/c", "/d"},
		Defaults: map[string]json.RawMessage{"/a": json.RawMessage(`{"x":"A","y":1}`)},
	})
	if a.Hash() != b.Hash() {
		t.Errorf("hashes differ:\n%s\n%s", a.Source(), b.Source())
	}
	distinct := []canon.Rules{
		{}, {Include: []string{"/a"}}, {Exclude: []string{"/a"}}, {Require: []string{"/a"}}, {NullIsAbsent: []string{"/a"}}, {EmptyIsAbsent: []string{"/a"}},
		{Numbers: "interop"}, {Numbers: "ieee754"}, {MaxBytes: 9}, {Include: []string{"/a"}, Unlisted: "ignore"},
		{Unordered: map[string]string{"/a": "set"}}, {Unordered: map[string]string{"/a": "multiset"}},
		{Normalize: map[string][]string{"/a": {"trim", "lower"}}}, {Normalize: map[string][]string{"/a": {"lower", "trim"}}},
		{Defaults: map[string]json.RawMessage{"/a": json.RawMessage(`1`)}}, {Defaults: map[string]json.RawMessage{"/a": json.RawMessage(`"1"`)}},
	}
	seen := map[string]string{}
	for _, r := range distinct {
		p := compile(t, r)
		if other, twice := seen[p.Hash()]; twice {
			t.Errorf("%s and %s have one hash", other, p.Source())
		}
		seen[p.Hash()] = string(p.Source())
	}
}

func TestStoredRulesGiveTheSameProgram(t *testing.T) {
	for name, rules := range goldenRules() {
		p := compile(t, rules)
		again, err := canon.Load(p.Source(), withNFC)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again.Hash() != p.Hash() {
			t.Errorf("%s: hash %s became %s", name, p.Hash(), again.Hash())
		}
		want, _ := p.Fingerprint("u/t", []byte(goldenArguments))
		got, err := again.Fingerprint("u/t", []byte(goldenArguments))
		if err != nil || got != want {
			t.Errorf("%s: fingerprint %s became %s, error %v", name, want, got, err)
		}
	}
}

func TestLoadRefusesWhatItCannotVerify(t *testing.T) {
	cases := []struct{ name, stored, code string }{
		{"another algorithm", `{"algorithm":"jx2","rules":{"whatever":1}}`, canon.CodeUnknownAlgorithm},
		{"no algorithm", `{"rules":{}}`, canon.CodeUnknownAlgorithm},
		{"a rule unknown to jx1", `{"algorithm":"jx1","rules":{"fold":["/a"]}}`, canon.CodeInvalidRules},
		{"no object", `[]`, canon.CodeInvalidRules},
		{"an invalid rule", `{"algorithm":"jx1","rules":{"numbers":"x"}}`, canon.CodeInvalidRules},
		{"damaged bytes", `{"algorithm":"jx1"`, canon.CodeInvalidRules},
	}
	for _, c := range cases {
		_, err := canon.Load([]byte(c.stored), canon.Options{})
		var refusal *canon.Error
		if !errors.As(err, &refusal) || refusal.Code != c.code {
			t.Errorf("%s: got %v, want %s", c.name, err, c.code)
		}
	}
}

func TestOneProgramServesManyGoroutines(t *testing.T) {
	p := compile(t, goldenRules()["every rule"])
	want, err := p.Fingerprint("u/t", []byte(goldenArguments))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				args := []byte(goldenArguments)
				if got, err := p.Fingerprint("u/t", args); err != nil || got != want || string(args) != goldenArguments {
					t.Errorf("got %s, error %v, want %s", got, err, want)
				}
			}
		})
	}
	group.Wait()
}

func TestSourceIsACopy(t *testing.T) {
	p := compile(t, canon.Rules{})
	want := `{"algorithm":"jx1","rules":{"max_bytes":1048576,"numbers":"exact"}}`
	clear(p.Source())
	if got := string(p.Source()); got != want || !strings.HasPrefix(p.Hash(), "sha256:") {
		t.Errorf("got %s, want %s", got, want)
	}
}
