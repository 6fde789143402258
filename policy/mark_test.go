// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

func TestMarksAreWrittenIntoTheArguments(t *testing.T) {
	marks := deed.Marks{Marker: mark, ClientID: "c-1", ProviderKey: "p-1"}
	for _, test := range []struct{ name, entry, arguments, want, wrong string }{
		{"appended to a text", `{marker: {append: /body, template: "<!-- {marker} -->"}}`, `{ "body":"caf\u00e9 \"x\"" ,"n":1.0}`, `{ "body":"caf\u00e9 \"x\"<!-- M -->" ,"n":1.0}`, ""},
		{"appended by default on a line of its own", `{marker: {append: /body}}`, `{"body":"x"}`, `{"body":"x\n<!-- M -->"}`, ""},
		{"appended to nothing", `{marker: {append: /body}}`, `{"n":1}`, `{"n":1,"body":"<!-- M -->"}`, ""},
		{"appended to null", `{marker: {append: /body}}`, `{"body":null}`, `{"body":"<!-- M -->"}`, ""},
		{"appended to a number", `{marker: {append: /body}}`, `{"body":1}`, "", "/body is no text"},
		{"into an object that is made", `{marker: {into: /metadata/op}}`, `{}`, `{"metadata":{"op":"M"}}`, ""},
		{"with a template", `{marker: {into: /ref, template: "op-{marker}"}}`, `{}`, `{"ref":"op-M"}`, ""},
		{"over a value of the caller", `{marker: {into: /ref}}`, `{"ref":"mine"}`, "", "/ref is written by deed"},
		{"the identity of a resource", `{identity: creation, client_id: {into: /id}}`, `{"id":null,"a":1}`, `{"id":"c-1","a":1}`, ""},
		{"the provider's key", `{provider_key: {into: /options/key, retention: 24h}}`, `{"options":{"x":1}}`, `{"options":{"x":1,"key":"p-1"}}`, ""},
		{
			"all of them", `{marker: {into: /m}, client_id: {into: /c}, provider_key: {into: /p, retention: 24h}}`, `{}`,
			`{"m":"M","c":"c-1","p":"p-1"}`, "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			rule := ruleOf(t, "tools: {a/make: "+test.entry+"}", "a/make")
			got, err := rule.Planting.Plant([]byte(test.arguments), marks)
			if want := strings.ReplaceAll(test.want, "M", mark); test.wrong == "" && (err != nil || string(got) != want) {
				t.Errorf("got %s, %v; want %s", got, err, want)
			}
			if test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	t.Run("appended twice with the real marker", func(t *testing.T) {
		plant := ruleOf(t, `tools: {a/make: {marker: {append: /body}}}`, "a/make").Planting.Plant
		once, err := plant([]byte(`{"body":"x"}`), marks)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := plant(once, marks); err != nil || string(twice) != string(once) {
			t.Errorf("got %s, %v", twice, err)
		}
	})
}

func TestMarksAreOnlyWrittenIntoJSONBodiesOfRequests(t *testing.T) {
	config := parse(t, `
http: {pay: {url: "https://api.example"}}
routes: {"POST pay/x": {marker: {into: /body/metadata/op}}}
`)
	plant := config.Policy().Rule("pay/POST /x", deed.ToolFacts{}).Planting.Plant
	got, err := plant([]byte(`{"method":"POST","body":{"a":1.0}}`), deed.Marks{Marker: mark})
	if want := `{"method":"POST","body":{"a":1.0,"metadata":{"op":"` + mark + `"}}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	for _, arguments := range []string{`{"method":"POST","form":{"a":"1"},"raw":"YT0x"}`, `{"method":"POST","body":[1]}`} {
		if got, err := plant([]byte(arguments), deed.Marks{Marker: mark}); err == nil {
			t.Errorf("%s became %s", arguments, got)
		}
	}
}

func TestMintedKeysFitTheirAlphabet(t *testing.T) {
	var own, other [32]byte
	for i := range own {
		own[i], other[i] = byte(i*37), byte(i*41+1)
	}
	for block, pattern := range map[string]string{
		"{header: Idempotency-Key, retention: 24h}":                           `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		"{header: Idempotency-Key, retention: 24h, alphabet: hex}":            `^[0-9a-f]{40}$`,
		"{header: Idempotency-Key, retention: 24h, alphabet: hex, max: 25}":   `^[0-9a-f]{25}$`,
		"{header: Idempotency-Key, retention: 24h, alphabet: alnum, max: 25}": `^[0-9a-zA-Z]{25}$`,
		"{meta: key, retention: 24h, alphabet: base32hex}":                    `^[0-9a-v]{32}$`,
	} {
		rule := parse(t, "upstreams: {a: {url: \"https://a.example/mcp\"}}\ntools: {a/make: {provider_key: "+block+"}}").Policy().Rule("a/make", deed.ToolFacts{})
		key := rule.ProviderKey.Mint(own)
		if !regexp.MustCompile(pattern).MatchString(key) || key != rule.ProviderKey.Mint(own) || key == rule.ProviderKey.Mint(other) {
			t.Errorf("%s gives %s", block, key)
		}
		if rule.Planting != nil || rule.ProviderKey.Margin != 10*time.Minute || rule.ProviderKey.Retention != 24*time.Hour {
			t.Errorf("%s means %+v", block, rule.ProviderKey)
		}
	}
	rule := ruleOf(t, "tools: {a/make: {client_id: {into: /id, alphabet: dns1123, max: 30}}}", "a/make")
	if id := rule.Planting.ClientID(own); !regexp.MustCompile(`^d[0-9a-v]{29}$`).MatchString(id) {
		t.Errorf("a name of DNS is %s", id)
	}
}

func TestTheGatewayIsToldHowAKeyTravels(t *testing.T) {
	config := parse(t, `
upstreams: {a: {url: "https://a.example/mcp"}, s: {command: [x]}}
tools:
  s/b: {provider_key: {header: X-Key, retention: 1h}}
  a/b: {provider_key: {header: X-Key, retention: 1h}}
  a/c: {provider_key: {meta: io.example/key, retention: 1h}}
`)
	if s := config.ToolSettings("a/b"); s.KeyHeader != "X-Key" || s.KeyMeta != "" {
		t.Errorf("a/b: %+v", s)
	}
	if s := config.ToolSettings("s/b"); s.KeyHeader != "" || config.Policy().Rule("s/b", deed.ToolFacts{}).ProviderKey != nil {
		t.Errorf("a command is told a header: %+v", s)
	}
	if s := config.ToolSettings("a/c"); s.KeyHeader != "" || s.KeyMeta != "io.example/key" {
		t.Errorf("a/c: %+v", s)
	}
}
