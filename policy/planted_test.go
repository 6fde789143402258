// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/deed-run/deed"
)

func TestMarksStandWhereTheConfigurationWritesThem(t *testing.T) {
	marks := deed.Marks{Marker: mark, ClientID: "c-1", ProviderKey: "p-1"}
	frozen, err := ruleOf(t, "tools: {a/make: {marker: {append: /body}, client_id: {into: /id}}}", "a/make").Planting.Plant([]byte(`{"body":"x"}`), marks)
	if err != nil {
		t.Fatal(err)
	}
	for entry, want := range map[string]bool{
		`{marker: {append: /body}, client_id: {into: /id}}`: true,
		`{marker: {append: /body}}`:                         true,
		`{}`:                                                true,
		`{marker: {append: /title}}`:                        false,
		`{marker: {into: /body}}`:                           false,
		`{marker: {append: /body}, client_id: {into: /name}}`:                                false,
		`{marker: {append: /body}, provider_key: {into: /key, retention: 24h}}`:              false,
		`{marker: {append: /body}, provider_key: {header: Idempotency-Key, retention: 24h}}`: true,
	} {
		config := parse(t, "upstreams: {a: {url: 'https://a.example'}}\ntools: {a/make: "+entry+"}")
		if got := config.Planted("a/make", frozen, marks); got != want {
			t.Errorf("%s: %v, want %v", entry, got, want)
		}
	}
}

// A text that is the mark and nothing else carries it: it was appended to none.
func TestAMarkThatWasAppendedToNothingStandsThere(t *testing.T) {
	config := parse(t, "upstreams: {a: {url: 'https://a.example'}}\ntools: {a/make: {marker: {append: /body}}}")
	for _, arguments := range []string{`{"n":1}`, `{"body":null}`, `{"body":""}`, `{"body":"x"}`} {
		frozen, err := config.Policy().Rule("a/make", deed.ToolFacts{}).Planting.Plant([]byte(arguments), deed.Marks{Marker: mark})
		if err != nil {
			t.Fatal(err)
		}
		if !config.Planted("a/make", frozen, deed.Marks{Marker: mark}) {
			t.Errorf("%s: the mark in %s is not seen", arguments, frozen)
		}
	}
}
