// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

func catalogue(name string) ([]byte, bool) {
	source, ok := map[string]string{
		"stripe/refund": `
effect: non_idempotent
provider_key: {header: Idempotency-Key, retention: 24h, margin: 1h}
max_processing: 1m
receipt: {system: stripe, id: /structuredContent/id}
failed: [{status: [402, 404], final: true}]
marker: {into: /metadata/op}
reconcile:
  tool: ./list_refunds
  args: {charge: "{args./charge}"}
  pages: {next: "has(result.next) ? result.next : null", arg: /after}
  found: result.refunds.filter(r, r.metadata.op == marker)
`,
		"broken/one": "effect: sometimes\nmatter: [order]\n",
		"broken/two": "provider: broken/two\n",
		"broken/yml": "{",
	}[name]
	return []byte(source), ok
}

func withCatalogue(text string) (*policy.Config, error) {
	return policy.ParseWith("deed.yaml", []byte("upstreams: {pay: {url: \"https://pay.example/mcp\"}}\n"+text), policy.Options{Catalogue: catalogue})
}

func TestAnEntryInheritsFromTheCatalogue(t *testing.T) {
	config, err := withCatalogue("tools: {pay/refund: {marker: {into: /meta/deed}, max_processing: 2m, provider: stripe/refund}}")
	if err != nil {
		t.Fatal(err)
	}
	rule, settings := config.Policy().Rule("pay/refund", deed.ToolFacts{}), config.ToolSettings("pay/refund")
	if rule.ProviderKey.Retention != 24*time.Hour || rule.ProviderKey.Margin != time.Hour || rule.MaxProcessing != 2*time.Minute {
		t.Errorf("rule %+v", rule)
	}
	if config.Tools["pay/refund"].Marker.Into != "/meta/deed" || settings.Probe.Tool != "pay/list_refunds" || settings.Receipt.System != "stripe" || len(settings.Failed) != 2 {
		t.Errorf("settings %+v", settings)
	}
	if got := config.Policy().Rule("pay/list_refunds", deed.ToolFacts{}).Effect; got != deed.EffectReadOnly {
		t.Errorf("what looks up is %s", got)
	}
	other, err := withCatalogue("tools: {pay/refund: {marker: {into: /meta/deed}, max_processing: 2m}}")
	if err != nil || other.Revision == config.Revision {
		t.Errorf("what is inherited does not count in the revision (%v)", err)
	}
}

func TestWhatTheCatalogueCannotGive(t *testing.T) {
	for name, want := range map[string]string{
		"stripe/refnd": "deed.yaml:2:32: tools.pay/refund.provider: the catalogue has no stripe/refnd; run deed providers list, or write out what is known of it",
		"broken/one": "provider broken/one:1:9: effect: unknown word sometimes; write read_only, idempotent or non_idempotent\n" +
			"provider broken/one:2:10: matter[0]: pointer order does not begin with /; write /order instead",
		"broken/two": "provider broken/two:1:11: provider: inherits from an entry that inherits itself; remove provider from the catalogue's entry",
		"broken/yml": "provider broken/yml:1:1: not YAML",
	} {
		if _, err := withCatalogue("tools: {pay/refund: {provider: " + name + "}}"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant\n%s", name, err, want)
		}
	}
}

func TestToolsOfAConnectorAreGuardedAsItsDescriptionSays(t *testing.T) {
	describe := func(c policy.Connector) (map[string][]byte, error) {
		if !strings.Contains(string(c.Source), "base_url") {
			return nil, errors.New("deed.yaml:1:30: base_url: is missing")
		}
		return map[string][]byte{
			"refund": []byte("effect: non_idempotent\nprovider_key: {body: /key, retention: 24h}\nmatter: [/charge]\nmarker: {into: /m}\n" +
				"reconcile: {tool: billing/head_refund, args: {q: \"{marker}\", c: \"{/charge}\"}, found: \"result.l.filter(i, i.t == marker)\"}\n"),
			"payout":      []byte("effect: idempotent\n"),
			"head_refund": []byte("effect: read_only\n"),
		}, nil
	}
	read := func(text string) (*policy.Config, error) {
		return policy.ParseWith("deed.yaml", []byte(text), policy.Options{Describe: describe})
	}
	config, err := read("connectors: {billing: {http: {base_url: \"https://api.example\"}}}\ntools: {billing/refund: {matter: [/order]}}")
	if err != nil {
		t.Fatal(err)
	}
	policies := config.Policy()
	refund, payout := policies.Rule("billing/refund", deed.ToolFacts{}), policies.Rule("billing/payout", deed.ToolFacts{})
	if refund.ProviderKey == nil || refund.Matter[0] != "/order" || refund.Planting == nil || refund.GiveUp != time.Hour || payout.Effect != deed.EffectIdempotent {
		t.Errorf("refund %+v\npayout %+v", refund, payout)
	}
	if got := policies.Rule("billing/head_refund", deed.ToolFacts{}).Effect; got != deed.EffectReadOnly {
		t.Errorf("what looks up is %s", got)
	}
	_, err = read("connectors: {billing: {http: {url: x}}}")
	if err == nil || !strings.Contains(err.Error(), "deed.yaml:1:14: connectors.billing: its description is refused: deed.yaml:1:30: base_url: is missing") {
		t.Errorf("a description that is wrong: %v", err)
	}
}
