// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/deed-run/deed/connector/mail"
)

const whole = `account: agent@example.org
name: Support
hello: gateway.example.org
message_id_host: mail.example.org
operation_header: X-Operation
attachments: /var/lib/deed/mail
max_size: 10MiB
max_recipients: 20
folders: [INBOX, Archive]
drafts: Drafts
smtp:
  host: mail.example.org
  port: 587
  security: starttls
  username: ${USER_NAME}
  password: ${SECRET}
  auth: login
  dot_timeout: 15m
imap:
  host: mail.example.org
  username: ${USER_NAME}
  password: ${SECRET}
lookups:
  - imap: [Sent]
  - http:
      url: http://127.0.0.1:8025/api/v1/search?query=message-id:{message_id}
      count: /messages_count
      headers:
        Authorization: Bearer ${SECRET}
  - log: [/var/log/mail.log.1, /var/log/mail.log]
`

func env(name string) string {
	return map[string]string{"USER_NAME": "agent", "SECRET": "hunter2"}[name]
}

func TestAWholeConfigurationLoads(t *testing.T) {
	a, err := mail.Load([]byte(whole), "deed.yaml", 1, env)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Identity(); got != "mail:agent@example.org via smtp://mail.example.org:587" {
		t.Errorf("identity %q", got)
	}
	var names []string
	for _, l := range a.Lookups() {
		names = append(names, l.Name())
	}
	if strings.Join(names, " ") != "imap http log" {
		t.Errorf("look-ups %v", names)
	}
}

func TestWrongConfigurationsAreRefusedWithTheirPlace(t *testing.T) {
	replaced := func(from, to string) string {
		if !strings.Contains(whole, from) {
			t.Fatalf("%q is not in the configuration", from)
		}
		return strings.Replace(whole, from, to, 1)
	}
	const small = "account: agent@example.org\nsmtp:\n  host: mail.example.org\n"
	for _, c := range []struct{ name, source, want string }{
		{"an unknown key", replaced("hello:", "helo:"), "deed.yaml:42:1: helo: there is no such key"},
		{"an unknown key below another", replaced("  host: mail.example.org\n  port", "  hosts: mail.example.org\n  port"), "deed.yaml:51:3: smtp.hosts: there is no such key"},
		{"a key twice", replaced("hello: gateway.example.org", "name: Again"), "deed.yaml:42:1: name: is written twice"},
		{"no account", replaced("account: agent@example.org\n", ""), "account: is missing"},
		{"no server", "account: agent@example.org\n", "smtp: is missing"},
		{"no host", replaced("imap:\n  host: mail.example.org\n", "imap:\n"), "imap.host: is missing"},
		{"an address with a name", replaced("account: agent@example.org", "account: Agent <agent@example.org>"), "account: address"},
		{"a text for a port", replaced("port: 587", `port: "587"`), "deed.yaml:52:9: smtp.port: a whole number must stand here"},
		{"a port beyond all ports", replaced("port: 587", "port: 70000"), "smtp.port"},
		{"another security", replaced("security: starttls", "security: maybe"), "write one of starttls, tls, none"},
		{"another way to sign in", replaced("auth: login", "auth: cram-md5"), "write one of plain, login"},
		{"a time-out that sends mails twice", replaced("dot_timeout: 15m", "dot_timeout: 30s"), "at least 10m0s"},
		{"a size without a unit", replaced("max_size: 10MiB", "max_size: 10"), "max_size"},
		{"a variable that is not set", replaced("${SECRET}", "${NOBODY}"), "variable ${NOBODY} is not set"},
		{"a password without a name", replaced("  username: ${USER_NAME}\n  password: ${SECRET}\n  auth", "  password: ${SECRET}\n  auth"), "username and password come together"},
		{"a password in the clear", replaced("security: starttls", "security: none"), "in the clear"},
		{"a header that shadows one of the mail", replaced("X-Operation", "Bcc"), "operation_header"},
		{"a hostile host of Message-IDs", replaced("message_id_host: mail.example.org", `message_id_host: "x>\r\nBcc: y"`), "message_id_host"},
		{"an empty list", replaced("[INBOX, Archive]", "[]"), "folders: a list must stand here"},
		{"a look-up of two kinds", replaced("  - imap: [Sent]", "  - imap: [Sent]\n    log: [x]"), "exactly one of"},
		{"a search that finds every mail", replaced("message-id:{message_id}", "x"), "must hold {message_id}"},
		{"a look-up by IMAP without IMAP", small + "lookups:\n  - imap: [Sent]\n", "needs the account's IMAP server"},
		{"a missing file of authorities", small + "  ca_file: /nowhere.pem\n", "smtp.ca_file"},
		{"no YAML", "account: [", "not YAML"},
		{"nothing", "", "no keys"},
		{"a list", "- a\n", "keys with values must stand here"},
		{"a second document", small + "---\nx: 1\n", "more than one document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := mail.Load([]byte(c.source), "deed.yaml", 40, env)
			var wrong *mail.Error
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error holds a secret: %v", err)
			}
			for _, p := range wrong.Problems {
				if p.Line < 40 || p.File != "deed.yaml" {
					t.Errorf("%+v has no place in the file", p)
				}
			}
		})
	}
}
