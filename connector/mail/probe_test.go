// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector/mail"
)

func TestProbing(t *testing.T) {
	for _, c := range []struct {
		name, tool, went string
		file             map[string]int
		adjust           func(*mail.Options)
		marks            deed.Marks
		want             deed.VerdictKind
	}{
		{name: "a sent mail is found", tool: "mail_send", file: map[string]int{"Sent": 1}, want: deed.VerdictFound},
		{name: "a mail that was sent twice is many", tool: "mail_send", file: map[string]int{"Sent": 2}, want: deed.VerdictMany},
		{name: "a mail that is nowhere is absent", tool: "mail_send", want: deed.VerdictAbsent},
		{name: "a draft is no sent mail", tool: "mail_send", file: map[string]int{"Drafts": 1}, want: deed.VerdictAbsent},
		{name: "a draft is found among the drafts", tool: "mail_draft_create", file: map[string]int{"Drafts": 1}, want: deed.VerdictFound},
		{name: "a sent mail is no draft", tool: "mail_draft_create", file: map[string]int{"Sent": 1}, want: deed.VerdictAbsent},
		{name: "another account's absence proves nothing", tool: "mail_send", went: "other@example.org", want: deed.VerdictUndetermined},
		{name: "no marker", tool: "mail_send", marks: deed.Marks{ClientID: "x"}, want: deed.VerdictUndetermined},
		{name: "no look-up", tool: "mail_send", adjust: func(o *mail.Options) { o.Lookups = nil }, want: deed.VerdictUndetermined},
		{name: "a look-up that fails", tool: "mail_send", adjust: func(o *mail.Options) { o.IMAP.Password = "wrong" }, want: deed.VerdictUndetermined},
		{name: "one of two look-ups fails", tool: "mail_send", adjust: func(o *mail.Options) {
			o.Lookups = append(o.Lookups, mail.LookupOptions{Log: []string{"/nowhere/mail.log"}})
		}, want: deed.VerdictUndetermined},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, cab := startPost(t, nil), startCabinet(t)
			for folder, n := range c.file {
				for range n {
					cab.file(t, folder, sentCopy)
				}
			}
			a := withCabinet(t, server, cab, func(o *mail.Options) {
				o.Lookups = []mail.LookupOptions{{IMAP: []string{"Sent"}}}
				if c.adjust != nil {
					c.adjust(o)
				}
			})
			if c.went == "" {
				c.went = a.Identity()
			}
			if c.marks == (deed.Marks{}) {
				c.marks.Marker = marker
			}
			verdict, err := a.Probe(t.Context(), deed.Inquest{Operation: &deed.Operation{Tool: deed.Tool("mail/" + c.tool)}, Attempt: deed.Attempt{UpstreamIdentity: c.went}, Marks: c.marks})
			if err != nil || verdict.Kind != c.want {
				t.Errorf("%+v, %v", verdict, err)
			}
			if strings.Contains(verdict.Evidence, "secret") {
				t.Errorf("the evidence holds a secret: %s", verdict.Evidence)
			}
		})
	}
}
