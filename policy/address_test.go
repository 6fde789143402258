// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	"github.com/deed-run/deed/policy"
)

// A sign of a password that divides addresses must end up in no host, and no
// part of the password in what is said about it.
func TestAVariableThatBreaksTheAddressOfADatabaseIsRefusedByItsName(t *testing.T) {
	const remedy = "percent-encoded: p%40ss for p@ss"
	for _, c := range []struct {
		name, ledger, value string
		refused             string
	}{
		{"a plain password", "postgres://deed:${SECRET}@db.example/deed", "zebrafish", ""},
		{"a password with signs that divide nothing", "postgres://deed:${SECRET}@db.example/deed", "a-b._~!$&'()*+,;=:z", ""},
		{"an encoded password", "postgres://deed:${SECRET}@db.example/deed", "zebra%40fi%2Fsh", ""},
		{"an @", "postgres://deed:${SECRET}@db.example/deed", "zebra@fish", "variable SECRET"},
		{"an @ and a /", "postgres://deed:${SECRET}@127.0.0.1:5432/deed", "zebra@fish/tail", "variable SECRET"},
		{"a / after digits", "postgres://deed:${SECRET}@db.example/deed", "12/tail", "variable SECRET"},
		{"a ? after digits", "postgres://deed:${SECRET}@db.example/deed", "12?tail", "variable SECRET"},
		{"a #", "postgres://deed:${SECRET}@db.example/deed", "zebra#fish", "variable SECRET"},
		{"a half escape", "postgres://deed:${SECRET}@db.example/deed", "100%", "variable SECRET"},
		{"a space", "postgres://deed:${SECRET}@db.example/deed", "zebra fish", "variable SECRET"},
		{"a user with an @", "postgres://${SECRET}:x${SECRET}@db.example/deed", "me@home", "variable SECRET"},
		{"user and password in one", "postgres://${SECRET}@db.example/deed", "deed:zebrafish", ""},
		{"several hosts in one", "postgres://deed@${SECRET}/deed?target_session_attrs=read-write", "db1,db2", ""},
		{"host and database in one", "postgres://deed@${SECRET}", "db.example/deed", ""},
		{"a password among the settings", "postgres://db.example/deed?password=${SECRET}", "a&host=evil", "variable SECRET"},
		{"a plain password among the settings", "postgres://db.example/deed?password=${SECRET}", "zebrafish", ""},
		{"settings in one", "postgres://db.example/deed?${SECRET}", "sslmode=require&pool_max_conns=4", ""},
		{"the whole address", "${SECRET}", "postgres://deed:zebrafish@db.example/deed", ""},
		{"a whole address with such a password", "${SECRET}", "postgres://deed:zebra@fish/tail@db.example/deed", "holds an @ behind its host"},
		{"a whole address whose password ends the host", "${SECRET}", "postgres://deed:12/p?tail@db.example/deed", "holds an @ behind its host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, err := policy.Parse("deed.yaml", []byte("tenant: acme\nledger: \""+c.ledger+"\"\n"), func(string) string { return c.value })
			if c.refused == "" {
				if err != nil || config.Ledger.URL.Text != strings.ReplaceAll(c.ledger, "${SECRET}", c.value) {
					t.Fatalf("%v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("accepted")
			}
			text := err.Error()
			if !strings.HasPrefix(text, "deed.yaml:2:9: ledger: "+c.refused) || c.ledger != "${SECRET}" && !strings.Contains(text, remedy) {
				t.Errorf("it says %q", text)
			}
			for _, part := range []string{"zebra", "tail", "fish", "evil", "me@home"} {
				if strings.Contains(text, part) {
					t.Errorf("%q tells %q of the secret", text, part)
				}
			}
		})
	}
}

// In the address of a server there is no place for a password, also where its
// signs would hide it.
func TestAPasswordInTheAddressOfAServerIsRefusedWhateverItHolds(t *testing.T) {
	for _, value := range []string{"zebrafish", "zebra@fish/tail", "12/tail", "12?tail", "zebra#fish"} {
		for _, file := range []string{
			"upstreams: {a: {url: \"https://me:${SECRET}@crm.example/mcp\"}}",
			"http: {a: {url: \"https://me:${SECRET}@crm.example/mcp\"}}",
			"webhooks: [{url: \"https://me:${SECRET}@crm.example/mcp\", secret: \"${SECRET}\"}]",
		} {
			_, err := policy.Parse("deed.yaml", []byte(file), func(string) string { return value })
			if err == nil || !strings.Contains(err.Error(), "url: holds a user or password") || strings.Contains(err.Error(), "fish") || strings.Contains(err.Error(), "tail") {
				t.Errorf("%s with %q: %v", file, value, err)
			}
		}
	}
}
