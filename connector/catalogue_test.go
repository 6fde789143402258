// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/connector"
	"github.com/deed-run/deed/policy"
)

func TestTheCatalogueHoldsEveryProvider(t *testing.T) {
	for _, err := range connector.CheckCatalogue() {
		t.Error(err)
	}
	var names []string
	for _, p := range connector.Providers() {
		names = append(names, p.Name)
		if p.Title == "" || p.BaseURL == "" {
			t.Errorf("%s has no title or base URL", p.Name)
		}
	}
	want := strings.Fields("adyen aws discord github gitlab gmail google-calendar google-cloud graph hubspot jira kubernetes linear mailgun notion " +
		"pagerduty paypal postmark resend s3 salesforce sendgrid ses shopify slack square stripe twilio zendesk")
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// What is general knowledge must stay marked, and nothing that acts may rest on it.
func TestUnverifiedFactsStayMarked(t *testing.T) {
	want := map[string]string{
		"stripe/refund": "definitive webhooks", "stripe/payment_intent": "definitive webhooks", "linear/issue_create": "lookup not_applied",
		"jira/issue_create": "lookup.lag marker", "zendesk/ticket_create": "key.in_flight", "github/issue_create": "key limits",
		"github/comment_create": "limits", "github/pull_create": "limits", "gitlab/issue_create": "duplicate", "slack/post_message": "key limits",
		"pagerduty/incident_create": "duplicate limits", "twilio/message_create": "marker", "resend/email_send": "key.in_flight key.mismatch",
		"postmark/email_send": "lookup lookup.lag", "mailgun/message_send": "lookup lookup.lag", "gmail/draft_send": "marker not_applied",
		"gmail/message_send": "marker not_applied", "graph/mail_send": "marker", "graph/event_create": "lookup", "salesforce/upsert": "client_id",
		"shopify/refund_create": "lookup not_applied", "notion/page_create": "marker", "aws/run_instances": "key.retention limits",
		"square/payment_create": "key.max lookup", "square/refund": "key.max webhooks", "paypal/order_create": "lookup.lag", "paypal/order_capture": "lookup.lag",
	}
	got := map[string]string{}
	for _, p := range connector.Providers() {
		for _, op := range p.Operations {
			if len(op.Unverified) > 0 {
				got[op.Name] = strings.Join(slices.Sorted(maps.Keys(op.Unverified)), " ")
			}
			for subject := range op.Unverified {
				if !strings.Contains(string(op.Entry), "# unverified: "+subject+": ") {
					t.Errorf("%s: the entry does not say that %s is unverified:\n%s", op.Name, subject, op.Entry)
				}
			}
			if op.VerifiedAt.IsZero() && !strings.Contains(string(op.Entry), "never checked against the live provider") {
				t.Errorf("%s: the entry does not say that it was never checked", op.Name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheCataloguesKeys(t *testing.T) {
	var rows strings.Builder
	for _, p := range connector.Providers() {
		for _, op := range p.Operations {
			retention := "unknown"
			if op.Retention > 0 {
				retention = op.Key.Bound + " " + op.Retention.String()
			}
			if !op.HasKey {
				retention = "no key"
			}
			fmt.Fprintf(&rows, "%s: %s, %s; %s\n", op.Name, op.Kind, retention, strings.Join(op.Strategies, " > "))
		}
	}
	golden(t, "catalogue.golden", rows.String())
}

func TestCatalogueEntries(t *testing.T) {
	var entries strings.Builder
	for _, name := range []string{"stripe/refund", "linear/issue_create", "github/issue_create", "square/refund"} {
		entry, ok := connector.CatalogueEntry(name)
		if !ok {
			t.Fatalf("no entry %s", name)
		}
		entries.WriteString("=== " + name + "\n" + string(entry))
	}
	golden(t, "entries.golden", entries.String())
	for _, name := range []string{"stripe", "stripe/nope", "nope/refund", ""} {
		if _, ok := connector.CatalogueEntry(name); ok {
			t.Errorf("there is an entry %q", name)
		}
	}
}

func TestABadCatalogueEntryIsRefusedByNameAndLine(t *testing.T) {
	const head = "provider: acme\ntitle: Acme\nbase_url: https://acme.example\noperations:\n  pay:\n"
	const facts = "    kind: create\n    strategies: [human]\n    confidence: stated\n    verified_at: never\n    sources: [x]\n"
	for _, c := range []struct{ name, entry, want string }{
		{"a bad pointer", facts + "    tool: {method: POST, path: /pay, receipt: {id: data.id}}\n", "acme.yaml:11:52: operations.pay.tool.receipt.id: pointer data.id does not begin with /; write /data/id instead"},
		{"a bad alphabet", facts + "    key: {bound: unknown}\n    tool: {method: POST, path: /pay, provider_key: {header: K, alphabet: uuid}}\n", "acme.yaml:12:74: operations.pay.tool.provider_key.alphabet: uuid is not known here"},
		{"a bad duration", facts + "    key: {bound: exactly}\n    tool: {method: POST, path: /pay, provider_key: {header: K, retention: 24}}\n", "acme.yaml:12:75: operations.pay.tool.provider_key.retention: is a number where a text must stand"},
		{"a retention that nobody states", facts + "    key: {bound: unknown}\n    tool: {method: POST, path: /pay, provider_key: {header: K, retention: 24h}}\n", "acme.yaml:6:5: operations.pay: has a retention of which nobody says how long it is"},
		{"a retention that is not verified", facts + "    key: {bound: exactly}\n    unverified: {key.retention: x}\n    tool: {method: POST, path: /pay, provider_key: {header: K, retention: 24h}}\n", "acme.yaml:6:5: operations.pay: rests on a retention that is not verified"},
		{"no sources", "    kind: create\n    strategies: [human]\n    tool: {method: POST, path: /pay}\n", "acme.yaml:6:5: operations.pay: does not say how it is known"},
		{"a strategy that does not exist", facts + "    tool: {method: POST, path: /pay}\n    ownership: []\n    kid: x\n", "acme.yaml:13:5: operations.pay.kid: is not a key of this block; write kind instead"},
		{"a look-up that is not there", facts + "    tool: {method: POST, path: /pay, marker: {into: /m}, reconcile: {lookup: find}}\n", "acme.yaml:11:11: operations.pay.tool: names the look-up find, which there is not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := connector.CheckProvider([]byte(head+c.entry), "acme.yaml")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// Every entry must be one that a configuration may inherit, together with a connector that inherits the same operation.
func TestConfigurationsTakeEveryEntry(t *testing.T) {
	for _, p := range connector.Providers() {
		for _, op := range p.Operations {
			t.Run(op.Name, func(t *testing.T) {
				_, operation, _ := strings.Cut(op.Name, "/")
				file := "connectors: {api: {http: {base_url: \"https://api.example\"}}}\ntools:\n  api/" + operation + ": {provider: " + op.Name + "}\n" +
					"  api/head_object: {effect: read_only}\n"
				if _, err := policy.ParseWith("deed.yaml", []byte(file), policy.Options{Catalogue: connector.CatalogueEntry}); err != nil {
					t.Errorf("%v\n%s", err, op.Entry)
				}
			})
		}
	}
}

func TestToolsInheritFromTheCatalogue(t *testing.T) {
	server := record(t, answers(200, `{"id":"re_1"}`))
	api := load(t, server.URL, "tools:\n  refund: {provider: stripe/refund, description: Give money back., receipt: {system: stripe-test}}\n")
	const key = "3f1b0c9e-5a3d-4c57-9f0e-0123456789ab"
	out := api.Call(t.Context(), "refund", grant(key), []byte(`{"charge":"ch_1","metadata":{"deed_op":"m"}}`))
	got := server.requests()[0]
	if got.Line != "POST /v1/refunds" || got.Body != "charge=ch_1&metadata[deed_op]=m" || got.Header.Get("Idempotency-Key") != key ||
		out.Receipt.RemoteID != "re_1" || out.Receipt.RemoteSystem != "stripe-test" {
		t.Errorf("%+v %+v", got, out.Receipt)
	}
	if lookups := api.Lookups(); len(lookups) != 1 || lookups[0].Name != "find_refund" {
		t.Errorf("look-ups: %+v", lookups)
	}
	entry, _ := api.Entry("refund")
	golden(t, "inherited.golden", string(entry))
	for _, c := range []struct{ provider, want string }{
		{"strpe/refund", "there is no provider strpe in the catalogue; write stripe/... instead"},
		{"stripe/refnd", "the catalogue knows no stripe/refnd; write one of stripe/refund, stripe/payment_intent"},
	} {
		_, err := connector.Load([]byte("base_url: https://x.example\ntools:\n  r: {provider: "+c.provider+"}\n"), "api.yaml", 1, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}
