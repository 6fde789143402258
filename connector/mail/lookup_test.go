// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/connector/mail"
)

func signIn(t *testing.T, c *cabinet) *imapclient.Client {
	t.Helper()
	client, err := imapclient.DialInsecure(c.address, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Login("agent", "secret").Wait(); err != nil {
		t.Fatal(err)
	}
	return client
}

const sentCopy = "From: agent@example.org\nMessage-ID: " + messageID + "\nSubject: x\n\nx\n"

func TestLookingByIMAP(t *testing.T) {
	decoy := strings.Replace(sentCopy, messageID, "<"+marker+"@example.org.evil.example>", 1)
	for _, c := range []struct {
		name    string
		folders map[string][]string
		want    []string
	}{
		{"nothing", nil, nil},
		{"one copy", map[string][]string{"Sent": {sentCopy}}, []string{messageID}},
		{"copies of one mail in two folders", map[string][]string{"Sent": {sentCopy}, "INBOX": {sentCopy}}, []string{messageID}},
		{"sent twice", map[string][]string{"Sent": {sentCopy, sentCopy}}, []string{"Sent;UID=1", "Sent;UID=2"}},
		{"a Message-ID that contains it", map[string][]string{"Sent": {decoy}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, cab := startPost(t, nil), startCabinet(t)
			for folder, mails := range c.folders {
				for _, raw := range mails {
					cab.file(t, folder, raw)
				}
			}
			a := withCabinet(t, server, cab, func(o *mail.Options) { o.Lookups = []mail.LookupOptions{{IMAP: []string{"Sent", "INBOX"}}} })
			finding, by, err := a.Find(t.Context(), marker, time.Time{})
			if err != nil || by != "imap" || !finding.Complete {
				t.Fatalf("%+v by %q, %v", finding, by, err)
			}
			if diff := cmp.Diff(c.want, ids(finding, marker)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a folder that is not there is no absence", func(t *testing.T) {
		server, cab := startPost(t, nil), startCabinet(t)
		a := withCabinet(t, server, cab, func(o *mail.Options) { o.Lookups = []mail.LookupOptions{{IMAP: []string{"Gone"}}} })
		if finding, _, err := a.Find(t.Context(), marker, time.Time{}); err == nil {
			t.Errorf("%+v", finding)
		}
	})
}

func ids(f mail.Finding, token string) []string {
	var list []string
	for _, m := range f.Matches {
		if m.Token == token {
			list = append(list, m.ID)
		}
	}
	return list
}

func TestLookingByHTTP(t *testing.T) {
	id := strings.Trim(messageID, "<>")
	hit := func(name, id string) string { return fmt.Sprintf(`{"ID":%q,"MessageID":%q}`, name, id) }
	for _, c := range []struct {
		name, kind, body string
		status           int
		want             []string
		complete, fails  bool
	}{
		{"nothing", "application/json", `{"messages":[],"messages_count":0}`, 200, nil, true, false},
		{"one", "application/json", `{"messages":[` + hit("m1", id) + `],"messages_count":1}`, 200, []string{messageID}, true, false},
		{"two", "application/json", `{"messages":[` + hit("m1", id) + `,` + hit("m2", id) + `],"messages_count":2}`, 200, []string{"m1", "m2"}, true, false},
		{"a hit that only looks like it", "application/json", `{"messages":[` + hit("m1", "x"+id) + `],"messages_count":1}`, 200, nil, true, false},
		{"not all are listed", "application/json", `{"messages":[],"messages_count":7}`, 200, nil, false, false},
		{"an error with 200", "application/json", `{"error":"index is down"}`, 200, nil, false, true},
		{"an error page with 200", "text/html", `<h1>Sorry</h1>`, 200, nil, false, true},
		{"half an answer", "application/json", `{"messages":[`, 200, nil, false, true},
		{"null for a list", "application/json", `{"messages":null}`, 200, nil, false, true},
		{"a redirect", "application/json", `{"messages":[]}`, 302, nil, false, true},
		{"not found", "application/json", `{"messages":[]}`, 404, nil, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if got := r.URL.Query().Get("query"); got != "message-id:"+id || r.Header.Get("X-Key") != "k" {
					t.Errorf("asked for %q with %v", got, r.Header)
				}
				w.Header().Set("Content-Type", c.kind)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}))
			defer api.Close()
			a := account(t, "127.0.0.1:25", func(o *mail.Options) {
				o.Lookups = []mail.LookupOptions{{HTTP: &mail.HTTPLookup{URL: api.URL + "/api/v1/search?query=message-id:{message_id}", Count: "/messages_count", Header: http.Header{"X-Key": {"k"}}}}}
			})
			finding, _, err := a.Find(t.Context(), marker, time.Time{})
			if (err != nil) != c.fails || finding.Complete != c.complete || asked != 1 {
				t.Errorf("%+v, %v, asked %d times", finding, err, asked)
			}
			if diff := cmp.Diff(c.want, ids(finding, marker)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestASearchThatDoesNotAnswerTellsItsAddressAsItWasWritten(t *testing.T) {
	source := "account: a@example.org\nsmtp: {host: 127.0.0.1, port: 25, security: none}\nlookups:\n- http: {url: 'http://127.0.0.1:1/${HOOK}/search?query={message_id}&key=${HOOK}'}\n"
	a, err := mail.Load([]byte(source), "deed.yaml", 1, func(string) string { return "T0K3N" })
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = a.Find(t.Context(), marker, time.Time{})
	if err == nil || strings.Contains(err.Error(), "T0K3N") || !strings.Contains(err.Error(), "${HOOK}") {
		t.Errorf("%v", err)
	}
}

func TestLookingInTheServersLog(t *testing.T) {
	const before = "Nov 29 10:00:00 mx postfix/master[1]: daemon started\n"
	cleanup := func(queue, id string) string {
		return "Nov 29 11:30:01 mx postfix/cleanup[7]: " + queue + ": message-id=" + id + "\n"
	}
	active := func(queue string) string {
		return "Nov 29 11:30:02 mx postfix/qmgr[8]: " + queue + ": from=<agent@example.org>, size=700, nrcpt=1 (queue active)\n"
	}
	sent := func(queue, how string) string {
		return "Nov 29 11:30:03 mx postfix/smtp[9]: " + queue + ": to=<a@example.net>, relay=r[10.0.0.1]:25, delay=1, status=sent (" + how + ")\n"
	}
	since := time.Date(2026, 11, 29, 11, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, log string
		want      []string
		complete  bool
	}{
		{"accepted", before + cleanup("4F2A1", messageID) + active("4F2A1"), []string{messageID}, true},
		{"accepted and passed on", before + cleanup("4F2A1", messageID) + sent("4F2A1", "250 ok"), []string{messageID}, true},
		{"cut before its end", before + cleanup("4F2A1", messageID) + "Nov 29 11:30:02 mx postfix/smtpd[6]: lost connection after DATA (300 bytes)\n", nil, true},
		{"accepted twice", before + cleanup("4F2A1", messageID) + active("4F2A1") + cleanup("4F2B2", messageID) + active("4F2B2"), []string{"4F2A1", "4F2B2"}, true},
		{"handed through a filter", before + cleanup("4F2A1", messageID) + active("4F2A1") + cleanup("4F2B2", messageID) + active("4F2B2") + sent("4F2A1", "250 2.0.0 Ok: queued as 4F2B2"), []string{messageID}, true},
		{"somebody else's", before + cleanup("4F2A1", "<other@example.org>") + active("4F2A1"), nil, true},
		{"rotated away", cleanup("4F2A1", "<other@example.org>") + active("4F2A1"), nil, false},
		{"an empty log", "", nil, false},
		{"a line without its end", before + cleanup("4F2A1", messageID) + strings.TrimSuffix(active("4F2A1"), "\n"), nil, true},
		{"an endless line", before + strings.Repeat("x", 200_000) + "\n" + cleanup("4F2A1", messageID) + active("4F2A1"), []string{messageID}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "mail.log")
			if err := os.WriteFile(name, []byte(c.log), 0o600); err != nil {
				t.Fatal(err)
			}
			a := account(t, "127.0.0.1:25", func(o *mail.Options) { o.Lookups = []mail.LookupOptions{{Log: []string{name}}} })
			finding, _, err := a.Find(t.Context(), marker, since)
			if err != nil || finding.Complete != c.complete {
				t.Errorf("%+v, %v", finding, err)
			}
			if diff := cmp.Diff(c.want, ids(finding, marker)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a log that cannot be read", func(t *testing.T) {
		a := account(t, "127.0.0.1:25", func(o *mail.Options) { o.Lookups = []mail.LookupOptions{{Log: []string{"/nowhere/mail.log"}}} })
		if finding, _, err := a.Find(t.Context(), marker, since); err == nil {
			t.Errorf("%+v", finding)
		}
	})
}
