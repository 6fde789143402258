// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/internal/canon"
)

var update = flag.Bool("update", false, "rewrite testdata/golden.json; a changed line means that jx1 changed and needs a new name")

// TestGolden freezes jx1: stored fingerprints are compared across releases.
func TestGolden(t *testing.T) {
	const file = "testdata/golden.json"
	got := map[string]string{}
	for _, c := range relations(t) {
		p := compile(t, c.Policy)
		got[c.Name+" a"] = outcome(p.Fingerprint(c.ToolA, []byte(c.A)))
		got[c.Name+" b"] = outcome(p.Fingerprint(c.ToolB, []byte(c.B)))
		got[c.Name+" rules"] = p.Hash()
	}
	for name, rules := range goldenRules() {
		p := compile(t, rules)
		got[name+" rules"] = p.Hash()
		got[name+" fingerprint"] = outcome(p.Fingerprint("shop/order.create", []byte(goldenArguments)))
	}
	if *update {
		raw, err := json.MarshalIndent(got, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(raw, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jx1 changed (-want +got):\n%s", diff)
	}
}

func outcome(fingerprint string, err error) string {
	var refusal *canon.Error
	if errors.As(err, &refusal) {
		return "error: " + refusal.Code + " " + refusal.Pointer
	}
	return fingerprint
}

const goldenArguments = `{
	"order_id": "A-17", "amount": "10.50", "currency": "eur", "note": "please hurry",
	"to": "Ann@B\u00fccher.Example", "site": "HTTP://Example.com:80/a/../b?q=%7e", "at": "2026-05-01T12:00:00.250+02:00",
	"id": "8E03978E-40D5-43E8-BC93-6894A57F9324", "name": " Jose\u0301  Mu\u00f1oz ", "file": "hello",
	"big": 1234567890123456789, "small": 1e-400, "long": 0.1000000000000000055,
	"tags": ["b", "a", "b"], "items": [{"sku": "B", "n": [2, 1]}, {"sku": "A", "n": []}], "cc": null, "bcc": ""
}`

func goldenRules() map[string]canon.Rules {
	return map[string]canon.Rules{
		"defaults": {},
		"every rule": {
			Include:       []string{"/order_id", "/amount", "/currency", "/to", "/site", "/at", "/id", "/name", "/file", "/big", "/small", "/long", "/tags", "/items/*/sku", "/items/*/n", "/items/*/unit", "/cc", "/bcc"},
			Exclude:       []string{"/note"},
			Require:       []string{"/order_id", "/items/*/sku"},
			Defaults:      map[string]json.RawMessage{"/items/*/unit": json.RawMessage(`"piece"`), "/cc": json.RawMessage(`[]`)},
			NullIsAbsent:  []string{"/cc"},
			EmptyIsAbsent: []string{"/bcc"},
			Normalize: map[string][]string{
				"/amount": {"decimal"}, "/currency": {"upper"}, "/to": {"email_domain"}, "/site": {"url"}, "/at": {"instant"},
				"/id": {"uuid"}, "/name": {"nfc", "trim", "collapse_space", "lower", "newlines"}, "/file": {"digest"},
			},
			Unordered: map[string]string{"/tags": "set", "/items": "multiset", "/items/*/n": "multiset"},
			MaxBytes:  4096,
		},
		"ieee754": {Numbers: "ieee754"},
		"interop": {Numbers: "interop", Exclude: []string{"/big", "/small", "/long"}},
	}
}

func TestEveryRuleTogetherHasTheExpectedBytes(t *testing.T) {
	got, err := compile(t, goldenRules()["every rule"]).Canonical("shop/order.create", []byte(goldenArguments))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"args":{"amount":10.5,"at":"2026-05-01T10:00:00.25Z","big":1234567890123456789,"cc":[],"currency":"EUR",` +
		`"file":"sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","id":"8e03978e-40d5-43e8-bc93-6894a57f9324",` +
		`"items":[{"n":[1,2],"sku":"B","unit":"piece"},{"n":[],"sku":"A","unit":"piece"}],"long":0.1000000000000000055,` +
		`"name":"josé muñoz","order_id":"A-17","site":"http://example.com/b?q=~","small":1e-400,"tags":["a","b"],` +
		`"to":"Ann@xn--bcher-kva.example"},"tool":"shop/order.create","v":"jx1"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("canonical bytes (-want +got):\n%s", diff)
	}
}
