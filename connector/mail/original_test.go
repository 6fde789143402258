// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	netmail "net/mail"
	"strings"
	"testing"
)

// TestHostileOriginals answers mails that strangers wrote: what stands in them must not become header fields or recipients.
func TestHostileOriginals(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		want           verdict
	}{
		{"a subject with an encoded line break", "Subject: =?UTF-8?q?Gr=C3=BC=C3=9Fe?=", "Subject: =?UTF-8?q?Hi=0D=0ABcc:_evil@example.com?=", accepted},
		{"references that are none", "References: <q0@example.net> <q1@example.net>", "References: <q0@example.net> Bcc:evil@example.com <a\x01@b>", accepted},
		{"an address in place of an address list", "From: Customer <customer@example.net>", "From: Customer <customer@[127.0.0.1]>", final},
		{"nobody", "From: Customer <customer@example.net>", "From: undisclosed:;", final},
		{"a quoted recipient", "From: Customer <customer@example.net>", `From: "a b"@example.net`, final},
		{"no header", "From: Customer <customer@example.net>", "no header at all", final},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, cab := startPost(t, nil), startCabinet(t)
			raw := strings.Replace(question, c.from, c.to, 1)
			if raw == question {
				t.Fatal("nothing was replaced")
			}
			cab.file(t, "INBOX", raw)
			a := withCabinet(t, server, cab, nil)
			out := call(t, t.Context(), a, "mail_reply_all", args{"message_id": "<q2@example.net>", "revision": digestOf(raw), "text": "x"})
			if of(out) != c.want {
				t.Fatalf("got %v: %s", of(out), out.Message)
			}
			for _, sent := range server.accepted() {
				m, err := netmail.ReadMessage(strings.NewReader(sent.Raw))
				if err != nil {
					t.Fatal(err)
				}
				if m.Header.Get("Bcc") != "" || strings.Contains(strings.Join(sent.To, " "), "evil") {
					t.Errorf("to %v with %v", sent.To, m.Header)
				}
			}
		})
	}
}
