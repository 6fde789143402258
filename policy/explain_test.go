// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

// golden compares text with a file of testdata, or rewrites the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func indented(t *testing.T, value any) string {
	t.Helper()
	doc, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(doc) + "\n"
}

func TestExplainShowsWhatBecomesOfACall(t *testing.T) {
	config := loadPlain(t)
	explanation, err := policy.Explain(config, "tickets/create_ticket", []byte(`{
		"title": "down", "severity": "low", "incident_id": "i-1042", "amount": 1.50, "note": "any words", "trace_id": 7, "idempotency_key": "left-out-of-it-all"
	}`))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "explain.json", indented(t, explanation))
}

func TestExplainShowsAToolWithoutAnEntry(t *testing.T) {
	config := policy.BareConfig(policy.BareOptions{})
	explanation, err := policy.Explain(config, "anything/move_file", []byte(`{"to":"b","from":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "explain-bare.json", indented(t, explanation))
	read, err := policy.Explain(config, "anything/get_file", []byte(`{}`))
	if err != nil || read.Effect != deed.EffectReadOnly || read.Key.Rule != "none" {
		t.Errorf("a read is explained as %+v, %v", read, err)
	}
}

func TestExplainRefusesWhatWouldBeRefused(t *testing.T) {
	config := loadPlain(t)
	strict := parse(t, `
upstreams: {a: {command: [x]}}
defaults: {unknown_tool: deny}
tools:
  a/pay: {fingerprint: {include: [/amount], require: [/amount], normalize: {/amount: [decimal]}}}
`)
	for _, test := range []struct {
		name   string
		config *policy.Config
		tool   deed.Tool
		args   string
		reason deed.Reason
		text   string
	}{
		{"a part of the key is missing", config, "tickets/create_ticket", `{"severity":"low"}`, deed.ReasonMissingOperationKey, "derived from /incident_id"},
		{"a part of the key is null", config, "tickets/create_ticket", `{"severity":"low","incident_id":null}`, deed.ReasonMissingOperationKey, "derived from /incident_id"},
		{"a condition refuses", config, "tickets/create_ticket", `{"severity":"critical","incident_id":1}`, deed.ReasonForbidden, "opened by a person"},
		{"a condition cannot be evaluated", config, "tickets/create_ticket", `{"incident_id":1}`, deed.ReasonForbidden, "could not be evaluated"},
		{"arguments are no object", config, "tickets/create_ticket", `[1]`, deed.ReasonBadArguments, "JSON object"},
		{"arguments are no JSON", config, "tickets/create_ticket", `{"a":`, deed.ReasonBadArguments, ""},
		{"a member is there twice", config, "tickets/create_ticket", `{"a":1,"a":1}`, deed.ReasonBadArguments, "a"},
		{"an argument is not listed", strict, "a/pay", `{"amount":"1.50","extra":1}`, deed.ReasonBadArguments, "/extra"},
		{"a required argument is missing", strict, "a/pay", `{}`, deed.ReasonBadArguments, "/amount"},
		{"a tool is unknown and unknown tools are denied", strict, "a/other", `{}`, deed.ReasonForbidden, "unknown_tool: deny"},
	} {
		t.Run(test.name, func(t *testing.T) {
			explanation, err := policy.Explain(test.config, test.tool, []byte(test.args))
			var refusal *policy.Refusal
			if !errors.As(err, &refusal) || refusal.Reason != test.reason || !strings.Contains(refusal.Text, test.text) {
				t.Errorf("got %v, want %s with %q", err, test.reason, test.text)
			}
			if explanation.Effect == "" || explanation.PolicyRevision == "" {
				t.Errorf("the refusal comes without an explanation: %+v", explanation)
			}
		})
	}
}

func TestExplainNamesAnUpstreamThatIsNotDeclared(t *testing.T) {
	if _, err := policy.Explain(loadPlain(t), "ticket/create_ticket", []byte("{}")); err == nil || !strings.Contains(err.Error(), "is not declared") {
		t.Errorf("got %v", err)
	}
}

func TestValuesAreTyped(t *testing.T) {
	matter := func(rules, arguments string) string {
		t.Helper()
		config := parse(t, "upstreams: {a: {command: [x]}}\ntools: {a/make: {effect: non_idempotent, matter: [/order], key: {from: [/order]}"+rules+"}}")
		explanation, err := policy.Explain(config, "a/make", []byte(arguments))
		if err != nil {
			t.Fatal(err)
		}
		return string(explanation.Matter) + " " + string(explanation.Fingerprint)
	}
	number, text := matter("", `{"order":1042}`), matter("", `{"order":"1042"}`)
	if number == text || !strings.HasPrefix(number, "[1042]") || !strings.HasPrefix(text, `["1042"]`) || matter("", `{"order":1.042e3}`) != number {
		t.Errorf("%s, %s", number, text)
	}
	const decimal = ", fingerprint: {normalize: {/order: [decimal]}}"
	if number, text := matter(decimal, `{"order":1042.0}`), matter(decimal, `{"order":"1042"}`); number != text {
		t.Errorf("as decimals: %s, %s", number, text)
	}
}

func TestExplainMergesEqualEffects(t *testing.T) {
	config := loadPlain(t)
	a, errA := policy.Explain(config, "crm/create", []byte(`{"a":1,"b":2.0,"idempotency_key":"x"}`))
	b, errB := policy.Explain(config, "crm/create", []byte(`{ "b":2, "a":1.0 }`))
	c, errC := policy.Explain(config, "crm/create", []byte(`{ "b":2, "a":1.1 }`))
	if err := errors.Join(errA, errB, errC); err != nil {
		t.Fatal(err)
	}
	if a.Fingerprint != b.Fingerprint || a.Fingerprint == c.Fingerprint {
		t.Errorf("fingerprints %s, %s, %s", a.Fingerprint, b.Fingerprint, c.Fingerprint)
	}
}
