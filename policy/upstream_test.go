// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/policy"
)

func TestTheIdentityOfAnUpstream(t *testing.T) {
	identity := func(t *testing.T, block string, env map[string]string) string {
		t.Helper()
		config, err := policy.Parse("/srv/app/deed.yaml", []byte("upstreams: {a: "+block+"}"), func(name string) string { return env[name] })
		if err != nil {
			t.Fatal(err)
		}
		return config.UpstreamIdentity("a")
	}
	env := map[string]string{"TOKEN": "one", "HOST": "h"}
	rotated := map[string]string{"TOKEN": "two", "HOST": "h"}
	base := identity(t, "{command: [node, s.js], env: {F: t.json, T: \"${TOKEN}\"}}", env)
	if !strings.HasPrefix(base, "command sha256:") {
		t.Errorf("identity %q", base)
	}
	for _, test := range []struct {
		name, block string
		env         map[string]string
		same        bool
	}{
		{"the order of keys does not count", "{env: {T: \"${TOKEN}\", F: t.json}, command: [node, s.js]}", env, true},
		{"args are part of the command", "{command: node, args: [s.js], env: {F: t.json}}", env, true},
		{"a secret is left out", "{command: [node, s.js], env: {F: t.json, T: \"${TOKEN}\"}}", rotated, true},
		{"a literal variable counts", "{command: [node, s.js], env: {F: u.json}}", env, false},
		{"an argument counts", "{command: [node, t.js], env: {F: t.json}}", env, false},
		{"the program counts", "{command: [bun, s.js], env: {F: t.json}}", env, false},
		{"the folder counts", "{command: [node, s.js], env: {F: t.json}, cwd: sub}", env, false},
		{"an account replaces it", "{command: [node, s.js], env: {F: t.json}, account: live}", env, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := identity(t, test.block, test.env); (got == base) != test.same {
				t.Errorf("same is %t, want %t: %s", got == base, test.same, got)
			}
		})
	}
	for block, want := range map[string]string{
		"{url: \"https://x.example/mcp\"}":                         "https://x.example/mcp",
		"{url: \"https://${HOST}/mcp\"}":                           "https://${HOST}/mcp",
		"{url: \"https://x.example/mcp\", account: live-42}":       "live-42",
		"{command: [x], account: live-42, env: {A: \"${TOKEN}\"}}": "live-42",
	} {
		if got := identity(t, block, env); got != want {
			t.Errorf("identity of %s is %q, want %q", block, got, want)
		}
	}
	if got := loadPlain(t).UpstreamIdentity("nobody"); got != "" {
		t.Errorf("an upstream that is not declared has the identity %q", got)
	}
}

func TestACommandGivenOutsideAFileHasTheIdentityOfTheSameInside(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "tool")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string { return map[string]string{"PATH": "relative:" + folder}[name] }
	config, err := policy.Parse(filepath.Join(folder, "deed.yaml"), []byte("upstreams: {a: {command: [tool, -v]}}"), env)
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Upstreams["a"].Program; got != program {
		t.Errorf("the program resolves to %s, want %s", got, program)
	}
	outside := policy.NewCommand("a", []string{"tool", "-v"}, folder, env)
	if outside.Identity() != config.UpstreamIdentity("a") {
		t.Error("the two identities differ")
	}
}

func TestSecretsAreKnownAndNotPrinted(t *testing.T) {
	config := loadPlain(t)
	withArguments := parse(t, "upstreams: {a: {command: x, args: [\"--token=${CRM_TOKEN}\"], env: {T: \"${CRM_TOKEN}\"}}}")
	if got := withArguments.Upstreams["a"].Command[1].Text; got != "--token=t0p-secret" {
		t.Errorf("argument: %s", got)
	}
	header := config.Upstreams["crm"].Headers["Authorization"]
	if header.Text != "Bearer t0p-secret" || !header.Secret {
		t.Errorf("header: %#v", header)
	}
	for _, shown := range []*policy.Config{config, withArguments} {
		doc, err := json.Marshal(shown.Upstreams)
		if err != nil || strings.Contains(string(doc), "t0p-secret") {
			t.Errorf("as JSON: %s, %v", doc, err)
		}
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			if text := fmt.Sprintf(format, *shown); strings.Contains(text, "t0p-secret") {
				t.Errorf("%s shows the secret: %s", format, text)
			}
		}
	}
	if diff := cmp.Diff([]string{"Bearer t0p-secret"}, config.Secrets()); diff != "" {
		t.Errorf("secrets differ (-want +got):\n%s", diff)
	}
}

func TestVariablesCanBeEscaped(t *testing.T) {
	config := parse(t, "upstreams: {a: {command: [x, '$${NOT}', '$5', 7], env: {E: ''}}}")
	var got []string
	for _, word := range config.Upstreams["a"].Command {
		got = append(got, word.Text)
	}
	if diff := cmp.Diff([]string{"x", "${NOT}", "$5", "7"}, got); diff != "" {
		t.Errorf("command differs (-want +got):\n%s", diff)
	}
}

func TestTheRevisionIsThatOfTheMeaning(t *testing.T) {
	const text = "upstreams: {a: {command: [x], env: {T: \"${CRM_TOKEN}\"}}}\ntools: {a/b: {effect: idempotent, timeout: 60s, fingerprint: {exclude: [/b, /a]}}}\n"
	base := parse(t, text).Revision
	for _, test := range []struct {
		name, text string
		same       bool
	}{
		{"comments, order and spelling", "# hello\ntools:\n  a/b:\n    timeout: 1m\n    effect: 'idempotent'\n    fingerprint: {exclude: [/a, /b]}\nupstreams: {a: {env: {T: \"${CRM_TOKEN}\"}, command: [x]}}\n", true},
		{"a default written out", text + "defaults: {lease: 30s}\n", true},
		{"another timeout", strings.Replace(text, "60s", "61s", 1), false},
		{"another class", strings.Replace(text, "idempotent", "non_idempotent", 1), false},
		{"another variable", strings.Replace(text, "CRM_TOKEN", "HOME_PAGE", 1), false},
		{"one tool more", strings.Replace(text, "tools: {", "tools: {a/c: {}, ", 1), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := parse(t, test.text).Revision; (got == base) != test.same {
				t.Errorf("same is %t, want %t", got == base, test.same)
			}
		})
	}
	rotated, err := policy.Parse("deed.yaml", []byte(text), func(string) string { return "another" })
	if err != nil || rotated.Revision != base {
		t.Errorf("a rotated secret changes the revision (%v)", err)
	}
}
