// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"bytes"
	"net"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector/mail"
)

// cabinet is a real IMAP server of this process.
type cabinet struct {
	user    *imapmemserver.User
	address string
}

func startCabinet(t *testing.T) *cabinet {
	t.Helper()
	memory := imapmemserver.New()
	c := &cabinet{user: imapmemserver.NewUser("agent", "secret")}
	for _, folder := range []string{"INBOX", "Sent", "Drafts"} {
		if err := c.user.Create(folder, nil); err != nil {
			t.Fatal(err)
		}
	}
	memory.AddUser(c.user)
	server := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return memory.NewSession(), nil, nil
		},
		Caps: imap.CapSet{imap.CapIMAP4rev1: {}, imap.CapUIDPlus: {}}, InsecureAuth: true, Logger: discardLog{},
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.address = listener.Addr().String()
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); _ = listener.Close(); <-done })
	return c
}

type discardLog struct{}

func (discardLog) Printf(string, ...any) {}

type literal struct{ *bytes.Reader }

func (l literal) Size() int64 { return l.Reader.Size() }

func (c *cabinet) file(t *testing.T, folder, raw string) {
	t.Helper()
	raw = strings.ReplaceAll(raw, "\n", "\r\n")
	if _, err := c.user.Append(folder, literal{bytes.NewReader([]byte(raw))}, &imap.AppendOptions{Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

func withCabinet(t *testing.T, server *post, c *cabinet, adjust func(*mail.Options)) *mail.Account {
	return account(t, server.address, func(o *mail.Options) {
		imapServer := serverAt(t, c.address)
		imapServer.Username, imapServer.Password = "agent", "secret"
		o.IMAP = &imapServer
		if adjust != nil {
			adjust(o)
		}
	})
}

const question = `From: Customer <customer@example.net>
To: agent@example.org, Second <second@example.net>
Cc: third@example.net
Subject: =?UTF-8?q?Gr=C3=BC=C3=9Fe?=
Message-ID: <q2@example.net>
References: <q0@example.net> <q1@example.net>
Date: Sat, 28 Nov 2026 10:00:00 +0000

Where is my order?
`

// revision reads a mail and returns its revision.
func revision(t *testing.T, a *mail.Account, id string) string {
	t.Helper()
	out := call(t, t.Context(), a, "mail_read", args{"message_id": id})
	mails, _ := structured(t, out)["mails"].([]any)
	if len(mails) == 0 {
		t.Fatalf("%s is not there: %s", id, out.Message)
	}
	return mails[0].(map[string]any)["revision"].(string)
}

func TestRepliesStayInTheirThread(t *testing.T) {
	for _, c := range []struct {
		tool string
		in   args
		to   []string
		head map[string]string
	}{
		{"mail_reply", nil, []string{"customer@example.net"}, map[string]string{
			"To": "<customer@example.net>", "Cc": "", "Subject": "Re: Gr\u00fc\u00dfe", "In-Reply-To": "<q2@example.net>",
			"References": "<q0@example.net> <q1@example.net> <q2@example.net>",
		}},
		{"mail_reply_all", nil, []string{"customer@example.net", "second@example.net", "third@example.net"}, map[string]string{
			"To": "<customer@example.net>", "Cc": "<second@example.net>, <third@example.net>", "In-Reply-To": "<q2@example.net>",
		}},
		{"mail_forward", args{"to": []string{"expert@example.net"}}, []string{"expert@example.net"}, map[string]string{
			"Subject": "Fwd: Gr\u00fc\u00dfe", "In-Reply-To": "", "References": "<q0@example.net> <q1@example.net> <q2@example.net>",
		}},
	} {
		t.Run(c.tool, func(t *testing.T) {
			server, c2 := startPost(t, nil), startCabinet(t)
			c2.file(t, "INBOX", question)
			a := withCabinet(t, server, c2, nil)
			in := args{"message_id": "<q2@example.net>", "revision": revision(t, a, "<q2@example.net>"), "text": "It is on its way."}
			for name, value := range c.in {
				in[name] = value
			}
			out := call(t, t.Context(), a, c.tool, in)
			if of(out) != accepted {
				t.Fatal(out.Message)
			}
			sent := server.accepted()[0]
			if diff := cmp.Diff(c.to, sent.To); diff != "" {
				t.Error(diff)
			}
			m, err := netmail.ReadMessage(strings.NewReader(sent.Raw))
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range c.head {
				if got, _ := decodeHeader(m.Header.Get(name)); strings.Join(strings.Fields(got), " ") != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			if m.Header.Get("Message-ID") != messageID {
				t.Errorf("Message-ID %s", m.Header.Get("Message-ID"))
			}
			if c.tool == "mail_forward" {
				original := parts(t, m.Header.Get("Content-Type"), m.Body)["message/rfc822"]
				if !strings.Contains(string(original), "Where is my order?") {
					t.Errorf("the original arrived as %q", original)
				}
			}
		})
	}
}

func TestAnOriginalThatWasSwappedIsNotAnswered(t *testing.T) {
	server, c := startPost(t, nil), startCabinet(t)
	c.file(t, "INBOX", strings.Replace(question, "customer@example.net", "thief@example.com", 1))
	a := withCabinet(t, server, c, nil)
	for name, in := range map[string]args{
		"another revision": {"message_id": "<q2@example.net>", "revision": "sha256:" + strings.Repeat("0", 64), "text": "x"},
		"not there":        {"message_id": "<q9@example.net>", "revision": "sha256:" + strings.Repeat("0", 64), "text": "x"},
		"no revision":      {"message_id": "<q2@example.net>", "text": "x"},
		"part of an id":    {"message_id": "<q2@example.ne>", "revision": "sha256:" + strings.Repeat("0", 64), "text": "x"},
	} {
		if out := call(t, t.Context(), a, "mail_reply", in); of(out) != final || len(server.accepted()) != 0 {
			t.Errorf("%s: got %v: %s", name, of(out), out.Message)
		}
	}
}

const draftID = "draft:order-1042:first"

func draft(changes args) args {
	in := plainMail()
	in["client_id"], in["bcc"] = draftID, []string{"hidden@example.net"}
	for name, value := range changes {
		in[name] = value
	}
	return in
}

func TestADraftIsSentAtItsRevisionOnly(t *testing.T) {
	server, c := startPost(t, nil), startCabinet(t)
	a := withCabinet(t, server, c, func(o *mail.Options) { o.OperationHeader = "X-Operation" })
	kept := call(t, t.Context(), a, "mail_draft_create", draft(nil))
	if of(kept) != accepted || len(server.accepted()) != 0 {
		t.Fatal(kept.Message)
	}
	first := structured(t, kept)["revision"].(string)
	read := structured(t, call(t, t.Context(), a, "mail_draft_read", args{"draft": draftID}))
	if read["revision"] != first {
		t.Errorf("created at %s, read at %s", first, read["revision"])
	}

	again := call(t, t.Context(), a, "mail_draft_create", draft(nil))
	if of(again) != accepted || structured(t, again)["revision"] != first {
		t.Errorf("the operation's own draft is not recognised: %s", again.Message)
	}
	other := callMarked(t, t.Context(), a, "mail_draft_create", strings.Repeat("Z", 26), draft(args{"text": "other"}))
	if of(other) != final {
		t.Errorf("another operation took the draft for its own: %v: %s", of(other), other.Message)
	}

	// A person edits the draft: mail programs keep a new one and delete the old.
	edited := editedDraft(t, c, "Good day.", "Good evening.")
	stale := callMarked(t, t.Context(), a, "mail_draft_send", strings.Repeat("S", 26), args{"draft": draftID, "revision": first})
	if of(stale) != final || len(server.accepted()) != 0 || !strings.Contains(stale.Message, "was changed since") {
		t.Errorf("a newer draft went out under an old approval: %v: %s", of(stale), stale.Message)
	}

	sender := strings.Repeat("S", 26)
	out := callMarked(t, t.Context(), a, "mail_draft_send", sender, args{"draft": draftID, "revision": edited(a)})
	if of(out) != accepted {
		t.Fatal(out.Message)
	}
	sent := server.accepted()[0]
	if diff := cmp.Diff([]string{"a@example.net", "hidden@example.net"}, sent.To); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(sent.Raw, "Message-ID: <"+sender+"@example.org>\r\n") || !strings.Contains(sent.Raw, "X-Operation: "+sender+"\r\n") {
		t.Errorf("the mail does not carry its own marker:\n%s", sent.Raw)
	}
	for _, leak := range []string{"hidden", draftID, marker} {
		if strings.Contains(sent.Raw, leak) {
			t.Errorf("the mail tells %q:\n%s", leak, sent.Raw)
		}
	}
	if gone := call(t, t.Context(), a, "mail_draft_read", args{"draft": draftID}); of(gone) != final {
		t.Errorf("the draft is still there: %s", gone.Message)
	}
	if twice := callMarked(t, t.Context(), a, "mail_draft_send", strings.Repeat("T", 26), args{"draft": draftID, "revision": first}); of(twice) != final || len(server.accepted()) != 1 {
		t.Errorf("sent again: %s", twice.Message)
	}
}

// editedDraft changes the draft as mail programs do; what it returns reads the revision that came of it.
func editedDraft(t *testing.T, c *cabinet, from, to string) func(*mail.Account) string {
	t.Helper()
	client := signIn(t, c)
	if _, err := client.Select("Drafts", nil).Wait(); err != nil {
		t.Fatal(err)
	}
	section := &imap.FetchItemBodySection{}
	all, err := client.Fetch(imap.SeqSetNum(1), &imap.FetchOptions{BodySection: []*imap.FetchItemBodySection{section}}).Collect()
	if err != nil || len(all) != 1 {
		t.Fatalf("%d drafts, %v", len(all), err)
	}
	raw := strings.Replace(string(all[0].FindBodySection(section)), from, to, 1)
	if err := client.Store(imap.SeqSetNum(1), &imap.StoreFlags{Op: imap.StoreFlagsAdd, Flags: []imap.Flag{imap.FlagDeleted}}, nil).Close(); err != nil {
		t.Fatal(err)
	}
	c.file(t, "Drafts", strings.ReplaceAll(raw, "\r\n", "\n"))
	return func(a *mail.Account) string {
		return structured(t, call(t, t.Context(), a, "mail_draft_read", args{"draft": draftID}))["revision"].(string)
	}
}

func TestADraftThatTheServerDoesNotKeep(t *testing.T) {
	server, c := startPost(t, nil), startCabinet(t)
	a := withCabinet(t, server, c, func(o *mail.Options) { o.Drafts = "Nowhere" })
	if out := call(t, t.Context(), a, "mail_draft_create", draft(nil)); out.Kind != deed.OutcomeUnsent {
		t.Errorf("got %v: %s", of(out), out.Message)
	}
}

func TestWithoutIMAPOnlySendingIsServed(t *testing.T) {
	server := startPost(t, nil)
	a := account(t, server.address, nil)
	raw, err := a.Tools(t.Context())
	if err != nil || strings.Contains(string(raw), "mail_reply") || !strings.Contains(string(raw), "mail_send") {
		t.Errorf("tools %s, %v", raw, err)
	}
	if out := call(t, t.Context(), a, "mail_reply", args{}); of(out) != final {
		t.Errorf("got %v", of(out))
	}
}
