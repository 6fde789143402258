// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

func TestConnectorsAreHandedOnAsTheyStandInTheFile(t *testing.T) {
	const file = `tenant: acme
connectors:
  billing:
    http:   # an API
      base_url: https://api.example
      account: live-42

      # tools follow
      tools:
        refund: {path: "/refunds"}
      text: |
        a
         b
  inbox: {mail: {account: "a}@b.example", smtp: [x, {y: 'z'}]}, }
tools:
  billing/refund: {effect: non_idempotent}
`
	config := parse(t, file)
	lines := strings.SplitAfter(file, "\n")
	want := map[string]policy.Connector{
		"billing": {Name: "billing", Kind: policy.ConnectorHTTP, Source: []byte(strings.Join(lines[4:13], "")), File: "deed.yaml", Line: 5, Account: "live-42"},
		"inbox": {
			Name: "inbox", Kind: policy.ConnectorMail, File: "deed.yaml", Line: 14, Account: "a}@b.example",
			Source: []byte(strings.Repeat(" ", 16) + `{account: "a}@b.example", smtp: [x, {y: 'z'}]}`),
		},
	}
	if diff := cmp.Diff(want, config.Connectors); diff != "" {
		t.Errorf("connectors differ (-want +got):\n%s", diff)
	}
	if rule := config.Policy().Rule("billing/refund", deed.ToolFacts{}); rule.Account != "live-42" || config.UpstreamIdentity("billing") != "live-42" {
		t.Errorf("effects go to %q", rule.Account)
	}
}

func TestAConnectorInAFileOfItsOwn(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "billing.yaml"), []byte("base_url: https://api.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := policy.Parse(filepath.Join(folder, "deed.yaml"), []byte("connectors: {billing: {http: billing.yaml}}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := config.Connectors["billing"]
	if string(got.Source) != "base_url: https://api.example\n" || got.File != filepath.Join(folder, "billing.yaml") || got.Line != 1 || got.Base() != folder {
		t.Errorf("read %+v", got)
	}
	_, err = policy.Parse(filepath.Join(folder, "deed.yaml"), []byte("connectors: {billing: {http: other.yaml}}"), nil)
	if err == nil || !strings.Contains(err.Error(), ":1:30: connectors.billing.http: cannot be read: there is no such file") {
		t.Errorf("another file: %v", err)
	}
}

// The time of the YAML reader grows with the square of open brackets: a hundred
// thousand of them, in a file of 100 kB, keep it busy for minutes.
func TestADescriptionThatWouldKeepTheReaderBusyIsNotRead(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"lists":               {"tools: " + strings.Repeat("[", 100_000), ":1:1008: more than 1000 open brackets; write YAML in UTF-8"},
		"blocks":              {"base_url: x\ntools: " + strings.Repeat("{a: ", 100_000), "more than 1000 open brackets"},
		"lists of a line":     {"tools: " + strings.Repeat("- ", 100_000), "more than 100 lists that begin in one line"},
		"a control character": {"base_url: \x00", ":1:11: control character 0x0"},
		"no UTF-8":            {"base_url: \xff", ":1:11: a byte that is not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []string{"http", "mail"} {
				if err := os.WriteFile(filepath.Join(folder, "described.yaml"), []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
				_, err := policy.Parse(filepath.Join(folder, "deed.yaml"), []byte("connectors: {billing: {"+kind+": described.yaml}}"), nil)
				if err == nil || !strings.Contains(err.Error(), filepath.Join(folder, "described.yaml")+":") || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v", kind, err)
				}
			}
		})
	}
}

func TestWhoIsToldAndWhoTells(t *testing.T) {
	config := parse(t, `
tenant: acme
webhooks:
  - {url: "https://hooks.example/${CRM_TOKEN}", format: slack, events: [unresolved]}
  - {url: "http://10.0.0.1/hook", secret: "${CRM_TOKEN}"}
confirmations:
  mailer: {secret: "${CRM_TOKEN}", header: X-Signature, prefix: "sha256=", marker: /data/op, id: /data/id, url: /data/url, when: "message.type == 'sent'"}
console: {allowed_hosts: [Deed.example], address: "https://deed.example/", trace_url: "https://t.example/{trace_id}?k={key}&c={meta.run-1}"}
`)
	hooks := []policy.Webhook{
		{URL: config.Webhooks[0].URL, Events: []string{"unresolved"}, Format: "slack"},
		{URL: policy.Literal("http://10.0.0.1/hook"), Secret: config.Webhooks[1].Secret, Events: []string{"approval", "unresolved"}, Format: "deed"},
	}
	if diff := cmp.Diff(hooks, config.Webhooks); diff != "" || config.Webhooks[1].Secret.Text != "t0p-secret" {
		t.Errorf("webhooks differ (-want +got):\n%s", diff)
	}
	confirmation := config.Confirmations["mailer"]
	want := policy.Confirmation{Name: "mailer", Tenant: "acme", Secrets: confirmation.Secrets, Header: "X-Signature", Prefix: "sha256=", Tolerance: 5 * time.Minute}
	if diff := cmp.Diff(want, confirmation, cmpopts.IgnoreUnexported(policy.Confirmation{})); diff != "" || confirmation.Secrets[0].Text != "t0p-secret" {
		t.Errorf("confirmations differ (-want +got):\n%s", diff)
	}
	console := policy.Console{AllowedHosts: []string{"deed.example"}, Address: "https://deed.example", TraceURL: "https://t.example/{trace_id}?k={key}&c={meta.run-1}"}
	if diff := cmp.Diff(console, config.Console); diff != "" {
		t.Errorf("console differs (-want +got):\n%s", diff)
	}
	if text := fmt.Sprintf("%+v", config); strings.Contains(text, "t0p-secret") {
		t.Errorf("printing shows a secret: %s", text)
	}
	if diff := cmp.Diff([]string{"https://hooks.example/t0p-secret", "t0p-secret"}, config.Secrets()); diff != "" {
		t.Errorf("secrets differ (-want +got):\n%s", diff)
	}
	proof, proves, err := confirmation.Read([]byte(`{"type":"sent","data":{"op":"M","id":12,"url":"https://m.example/12"}}`))
	if diff := cmp.Diff(deed.Proof{Marker: "M", RemoteID: "12", RemoteURL: "https://m.example/12"}, proof); diff != "" || err != nil || !proves {
		t.Errorf("proof differs (-want +got):\n%s%v", diff, err)
	}
	for message, readable := range map[string]bool{`{"type":"queued","data":{"op":"M"}}`: true, `{"type":"sent"}`: true, `{}`: false, `x`: false} {
		if _, proves, err := confirmation.Read([]byte(message)); proves || (err == nil) != readable {
			t.Errorf("%s: %t, %v", message, proves, err)
		}
	}
}
