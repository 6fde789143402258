// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

func environment(name string) string {
	return map[string]string{"CRM_TOKEN": "t0p-secret", "HOME_PAGE": "https://home.example"}[name]
}

func loadPlain(t *testing.T) *policy.Config {
	t.Helper()
	config, err := policy.Load(filepath.Join("testdata", "plain.yaml"), environment)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func parse(t *testing.T, text string) *policy.Config {
	t.Helper()
	config, err := policy.Parse("deed.yaml", []byte(text), environment)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestThePlainExampleMeansItsRules(t *testing.T) {
	config := loadPlain(t)
	rule := config.Policy().Rule("tickets/create_ticket", deed.ToolFacts{})

	want := deed.DefaultRule("tickets/create_ticket")
	want.Why = "declared in the configuration"
	want.Key = deed.KeyRule{Need: deed.NeedRequired, From: []string{"tenant", "meta.run", "/incident_id"}}
	want.Matter = []string{"/incident_id"}
	want.Fingerprint = deed.FingerprintRules{Exclude: []string{"/trace_id", "/note"}}
	want.Conditions = []string{"deny: args.severity == 'critical' && actor != 'support-agent'"}
	want.Retention = 2160 * time.Hour
	want.Revision = config.Revision
	if diff := cmp.Diff(want, rule, cmpopts.IgnoreFields(deed.Rule{}, "Deny")); diff != "" {
		t.Errorf("rule differs (-want +got):\n%s", diff)
	}

	critical := []byte(`{"severity":"critical","incident_id":"i-1"}`)
	if got := rule.Deny(critical, deed.Principal{Actor: "intern"}); got != "critical tickets are opened by a person" {
		t.Errorf("deny said %q", got)
	}
	if got := rule.Deny(critical, deed.Principal{Actor: "support-agent"}); got != "" {
		t.Errorf("deny said %q to the support agent", got)
	}
}

func TestThePlainExampleMeansItsSettings(t *testing.T) {
	config := loadPlain(t)
	settings := config.ToolSettings("tickets/create_ticket")
	if len(settings.Failed) != 1 || settings.Failed[0].Text.String() != "^invalid" || !settings.Failed[0].Final || settings.Failed[0].AnyResult {
		t.Errorf("failed rules: %+v", settings.Failed)
	}
	settings.Failed = nil
	want := policy.ToolSettings{
		Receipt: policy.Receipt{System: "linear", ID: "/structuredContent/id", URL: "/structuredContent/url"},
		IsError: policy.IsErrorUncertain, DeedOperations: true, CallIDs: []string{"claudecode/toolUseId"},
		KeyRequired: true, OwnKeyArgument: "idempotency_key",
		AnswerWithin: 50 * time.Second, Timeout: 10 * time.Minute, TimeoutHard: time.Hour, Late: 10 * time.Minute,
	}
	if diff := cmp.Diff(want, settings); diff != "" {
		t.Errorf("settings differ (-want +got):\n%s", diff)
	}
	folder, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(policy.Ledger{Driver: "sqlite", Path: filepath.Join(folder, "deed.db")}, config.Ledger); diff != "" {
		t.Errorf("ledger differs (-want +got):\n%s", diff)
	}
	if got := config.Upstreams["tickets"].Cwd; got != folder {
		t.Errorf("a command without cwd runs in %s, not in the folder of its file", got)
	}
	token := policy.Token{
		SHA256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Tenant: "acme",
		Actor: "support-agent", Rights: []deed.Right{deed.RightCall, deed.RightRead},
	}
	if diff := cmp.Diff([]policy.Token{token}, config.Auth.Tokens); diff != "" {
		t.Errorf("tokens differ (-want +got):\n%s", diff)
	}
}

func TestWrittenDefaultsAreTheDefaultsOfTheDomain(t *testing.T) {
	text := "defaults:\n"
	for _, key := range policy.Keys() {
		if name, ok := strings.CutPrefix(key.Path, "defaults."); ok {
			text += "  " + name + ": " + key.Default + "\n"
		}
	}
	written, empty := parse(t, text), parse(t, "")
	if diff := cmp.Diff(empty.Defaults, written.Defaults); diff != "" {
		t.Errorf("the reference states other defaults than hold (-hold +stated):\n%s", diff)
	}
	want := deed.DefaultRule("a/b")
	got := empty.Policy().Rule("a/b", deed.ToolFacts{})
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(deed.Rule{}, "Why", "Revision")); diff != "" {
		t.Errorf("an empty file means another rule than deed.DefaultRule (-want +got):\n%s", diff)
	}
}

func TestAToolChangesTheDefaultsForItself(t *testing.T) {
	config := parse(t, `
tools:
  a/make: {timeout: 20m, rate: 5/1h, mode: enforce, key: runtime, identity: secret, scope: actor, twins: {executing: allow}}
  a/create: {identity: creation}
  a/plain: {}
defaults: {timeout: 5m, mode: observe, rate: 100/s}
upstreams: {a: {command: [x], account: live}}
`)
	made := config.Policy().Rule("a/make", deed.ToolFacts{})
	want := deed.DefaultRule("a/make")
	want.Timeout, want.Rate, want.Key.Need = 20*time.Minute, deed.Limit{N: 5, Per: time.Hour}, deed.NeedRuntime
	want.Identity, want.Scope, want.TwinsExecuting, want.Account = deed.FamilySecret, deed.ScopeActor, true, "live"
	if diff := cmp.Diff(want, made, cmpopts.IgnoreFields(deed.Rule{}, "Why", "Revision")); diff != "" {
		t.Errorf("rule differs (-want +got):\n%s", diff)
	}
	plain := config.Policy().Rule("a/plain", deed.ToolFacts{})
	if plain.Timeout != 5*time.Minute || plain.Mode != deed.ModeObserve || plain.Rate != (deed.Limit{N: 100, Per: time.Second}) {
		t.Errorf("the plain tool does not follow the defaults: %+v", plain)
	}
	if s := config.ToolSettings("a/make"); s.AddKeyArgument || s.KeyRequired {
		t.Errorf("a secret key would be added to the schema: %+v", s)
	}
	if s := config.ToolSettings("a/create"); !s.AddKeyArgument || s.OwnKeyArgument != "client_id" {
		t.Errorf("the creation tool's settings: %+v", s)
	}
}

func TestAPostgreSQLLedgerKeepsItsPasswordToItself(t *testing.T) {
	config := parse(t, "ledger: postgres://deed:${CRM_TOKEN}@db.example/deed?sslmode=require")
	if config.Ledger.Driver != policy.LedgerPostgres || config.Ledger.URL.Text != "postgres://deed:t0p-secret@db.example/deed?sslmode=require" {
		t.Errorf("ledger %+v", config.Ledger)
	}
	if text := fmt.Sprintf("%v %+v %#v", config.Ledger, config, config.Ledger); strings.Contains(text, "t0p-secret") {
		t.Errorf("printing shows the password: %s", text)
	}
	if diff := cmp.Diff([]string{config.Ledger.URL.Text, "t0p-secret"}, config.Secrets()); diff != "" {
		t.Errorf("secrets differ (-want +got):\n%s", diff)
	}
}

func TestNotificationsOfALedgerGoTheirOwnWay(t *testing.T) {
	const pooled = "ledger: postgres://deed@pool.example:6432/deed\n"
	config := parse(t, pooled+"ledger_notifications: postgres://deed:${CRM_TOKEN}@db.example/deed")
	if config.Ledger.Notifications.Text != "postgres://deed:t0p-secret@db.example/deed" || config.Ledger.Silent {
		t.Errorf("ledger %+v", config.Ledger)
	}
	if diff := cmp.Diff([]string{config.Ledger.Notifications.Text, "t0p-secret"}, config.Secrets()); diff != "" {
		t.Errorf("secrets differ (-want +got):\n%s", diff)
	}
	if config := parse(t, "ledger_notifications: off\n"+pooled); !config.Ledger.Silent {
		t.Errorf("ledger %+v", config.Ledger)
	}
}
