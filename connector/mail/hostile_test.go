// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector/mail"
)

func TestHostileArgumentsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	store := t.TempDir()
	digest := keepContent(t, store, "good")
	changed := strings.Repeat("ab", 32)
	if err := os.WriteFile(filepath.Join(store, changed), []byte("not what the name says"), 0o600); err != nil {
		t.Fatal(err)
	}
	with := func(changes args) args {
		mail := plainMail()
		for name, value := range changes {
			mail[name] = value
		}
		return mail
	}
	file := func(sha, name, kind string) args {
		return with(args{"attachments": []args{{"sha256": sha, "name": name, "type": kind}}})
	}
	for name, in := range map[string]args{
		"a subject that begins another field":     with(args{"subject": "Hi\r\nBcc: x@example.net"}),
		"a subject with a bare line feed":         with(args{"subject": "Hi\nBcc: x@example.net"}),
		"a subject with a Unicode line separator": with(args{"subject": "Hi\u2028Bcc: x@example.net"}),
		"a subject with a NUL":                    with(args{"subject": "Hi\x00"}),
		"a subject without an end":                with(args{"subject": strings.Repeat("x", 2000)}),
		"a recipient with another command":        with(args{"to": []string{"a@example.net>\r\nRCPT TO:<b@example.net"}}),
		"a recipient in brackets":                 with(args{"to": []string{"<a@example.net>"}}),
		"a recipient with a name":                 with(args{"to": []string{"A <a@example.net>"}}),
		"two recipients in one":                   with(args{"to": []string{"a@example.net, b@example.net"}}),
		"a recipient with a space":                with(args{"to": []string{"a @example.net"}}),
		"a recipient without a domain":            with(args{"to": []string{"root"}}),
		"a source route":                          with(args{"to": []string{"@relay.example:a@example.net"}}),
		"a recipient of an address literal":       with(args{"to": []string{"a@[127.0.0.1]"}}),
		"an empty recipient":                      with(args{"to": []string{""}}),
		"parameters behind a recipient":           with(args{"to": []string{"a@example.net> NOTIFY=SUCCESS"}}),
		"no recipients":                           with(args{"to": []string{}}),
		"a hostile reply_to":                      with(args{"reply_to": "a@example.net\r\nX: y"}),
		"no text":                                 with(args{"text": ""}),
		"a field of the mail that is not offered": with(args{"from": "boss@example.org"}),
		"headers":                          with(args{"headers": args{"Bcc": "x@example.net"}}),
		"too many recipients":              with(args{"to": many(101)}),
		"a path for a digest":              file("../../etc/passwd", "x.txt", "text/plain"),
		"an unknown digest":                file(strings.Repeat("0", 64), "x.txt", "text/plain"),
		"content that was changed":         file(changed, "x.txt", "text/plain"),
		"a path for a name":                file(digest, "../x.txt", "text/plain"),
		"a name that begins another field": file(digest, "x\r\nX-Evil: 1", "text/plain"),
		"a type with parameters":           file(digest, "x.txt", "text/plain; name=\"y\""),
		"a type that begins another field": file(digest, "x.txt", "text/plain\r\nX-Evil: 1"),
		"a type that nests mails":          file(digest, "x.eml", "message/rfc822"),
	} {
		t.Run(name, func(t *testing.T) {
			server := startPost(t, nil)
			asked := false
			server.refuse = func(string, string) error { asked = true; return nil }
			out := call(t, t.Context(), account(t, server.address, func(o *mail.Options) { o.Attachments = store }), "mail_send", in)
			if of(out) != final || asked {
				t.Errorf("got %v, asked the server: %v: %s", of(out), asked, out.Message)
			}
			if !strings.HasPrefix(out.Message, "mail_rejected: nothing was sent: ") || structured(t, out)["status"] != "mail_rejected" {
				t.Errorf("told as %q", out.Message)
			}
		})
	}
}

func many(n int) []string {
	list := make([]string, 0, n)
	for i := range n {
		list = append(list, "r"+strings.Repeat("x", i%50)+string(rune('a'+i%26))+strings.Repeat("y", i/26)+"@example.net")
	}
	return list
}

func keepContent(t *testing.T, store, content string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(content))
	name := hex.EncodeToString(sum[:])
	if err := os.WriteFile(filepath.Join(store, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestNothingIsSentWithoutAMarker(t *testing.T) {
	server := startPost(t, nil)
	a := account(t, server.address, nil)
	grant := &deed.Grant{Unrecorded: true, Rule: deed.DefaultRule("mail/mail_send")}
	out := a.Call(t.Context(), "mail_send", grant, []byte(`{"to":["a@example.net"],"subject":"Hello","text":"x"}`))
	if of(out) != final || len(server.accepted()) != 0 {
		t.Errorf("got %v: %s", of(out), out.Message)
	}
}

func TestCallersCannotPlantAMarker(t *testing.T) {
	a := account(t, "127.0.0.1:25", nil)
	if _, err := a.Planting("mail_send").Plant([]byte(`{"operation_marker":"x"}`), deed.Marks{Marker: marker}); err == nil {
		t.Error("a caller's marker was taken")
	}
	got, err := a.Planting("mail_send").Plant([]byte(` {"n":1e999, "a":"b"}`), deed.Marks{Marker: marker})
	if want := `{"operation_marker":"` + marker + `","n":1e999, "a":"b"}`; err != nil || string(got) != want {
		t.Errorf("planted %s, %v", got, err)
	}
	if got, err = a.Planting("mail_send").Plant([]byte(`{}`), deed.Marks{Marker: marker}); err != nil || string(got) != `{"operation_marker":"`+marker+`"}` {
		t.Errorf("planted %s, %v", got, err)
	}
	if a.Planting("mail_lookup") != nil {
		t.Error("a marker is planted into a tool that reads")
	}
}

// TestTheTextArrivesAsItWas sends what is most easily broken on the way: dots at the beginning of lines, among them what would end the text,
// and commands behind them.
func TestTheTextArrivesAsItWas(t *testing.T) {
	server := startPost(t, nil)
	text := "first\r\n.\r\nMAIL FROM:<evil@example.net>\r\n..two\n.\rthree\r.\nend. gr\u00fc\u00dfe"
	in := args{"to": []string{"a@example.net"}, "subject": "Gr\u00fc\u00dfe \U0001f600 " + strings.Repeat("lang ", 60), "text": text, "html": "<p>.</p>\n.\n"}
	out := call(t, t.Context(), account(t, server.address, nil), "mail_send", in)
	if of(out) != accepted || len(server.accepted()) != 1 {
		t.Fatalf("got %v with %d mails: %s", of(out), len(server.accepted()), out.Message)
	}
	raw := server.accepted()[0].Raw
	for line := range strings.SplitSeq(raw, "\r\n") {
		if len(line) > 998 {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
	m, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	plain := parts(t, m.Header.Get("Content-Type"), m.Body)["text/plain"]
	normal := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"), "\n", "\r\n")
	}
	if normal(string(plain)) != normal(text) {
		t.Errorf("the text arrived as %q", plain)
	}
	if subject, err := decodeHeader(m.Header.Get("Subject")); err != nil || subject != in["subject"].(string) {
		t.Errorf("the subject arrived as %q, %v", subject, err)
	}
	if m.Header.Get("Bcc") != "" || m.Header.Get("X-Mailer") != "" {
		t.Errorf("the header tells too much: %v", m.Header)
	}
}

func TestBlindCopiesStayBlind(t *testing.T) {
	server := startPost(t, nil)
	in := args{"bcc": []string{"hidden@example.net"}, "subject": "Hello", "text": "x"}
	if out := call(t, t.Context(), account(t, server.address, nil), "mail_send", in); of(out) != accepted {
		t.Fatal(out.Message)
	}
	if mail := server.accepted()[0]; strings.Contains(mail.Raw, "hidden") || mail.To[0] != "hidden@example.net" {
		t.Errorf("to %v:\n%s", mail.To, mail.Raw)
	}
}

func TestAddressesOutsideASCII(t *testing.T) {
	umlaut := args{"to": []string{"j\u00fcrgen@b\u00fccher.example"}, "subject": "Hello", "text": "x"}
	server := startPost(t, nil)
	out := call(t, t.Context(), account(t, server.address, nil), "mail_send", umlaut)
	if of(out) != accepted || !server.accepted()[0].UTF8 || server.accepted()[0].To[0] != "j\u00fcrgen@xn--bcher-kva.example" {
		t.Errorf("got %v, %v: %s", of(out), server.accepted(), out.Message)
	}
	old := startPost(t, func(s *smtp.Server) { s.EnableSMTPUTF8 = false })
	out = call(t, t.Context(), account(t, old.address, nil), "mail_send", umlaut)
	if of(out) != final || len(old.accepted()) != 0 || !strings.Contains(out.Message, "SMTPUTF8") {
		t.Errorf("got %v: %s", of(out), out.Message)
	}
	out = call(t, t.Context(), account(t, old.address, nil), "mail_send", args{"to": []string{"a@b\u00fccher.example"}, "subject": "Hello", "text": "x"})
	if of(out) != accepted || old.accepted()[0].To[0] != "a@xn--bcher-kva.example" {
		t.Errorf("a domain alone needs no SMTPUTF8: %v: %s", of(out), out.Message)
	}
}

func TestBigAttachments(t *testing.T) {
	store := t.TempDir()
	content := strings.Repeat("0123456789abcdef\n", 600_000)
	in := plainMail()
	in["attachments"] = []args{{"sha256": "sha256:" + keepContent(t, store, content), "name": "big.bin"}}

	server := startPost(t, nil)
	out := call(t, t.Context(), account(t, server.address, func(o *mail.Options) { o.Attachments = store }), "mail_send", in)
	if of(out) != accepted {
		t.Fatal(out.Message)
	}
	m, err := netmail.ReadMessage(strings.NewReader(server.accepted()[0].Raw))
	if err != nil {
		t.Fatal(err)
	}
	if got := parts(t, m.Header.Get("Content-Type"), m.Body)["application/octet-stream"]; !bytes.Equal(got, []byte(content)) {
		t.Errorf("the attachment arrived with %d bytes of %d", len(got), len(content))
	}

	t.Run("larger than the account takes", func(t *testing.T) {
		out := call(t, t.Context(), account(t, server.address, func(o *mail.Options) { o.Attachments, o.MaxSize = store, 1<<20 }), "mail_send", in)
		if of(out) != final || len(server.accepted()) != 1 {
			t.Errorf("got %v: %s", of(out), out.Message)
		}
	})
	t.Run("larger than the server takes", func(t *testing.T) {
		small := startPost(t, func(s *smtp.Server) { s.MaxMessageBytes = 1 << 20 })
		out := call(t, t.Context(), account(t, small.address, func(o *mail.Options) { o.Attachments = store }), "mail_send", in)
		if of(out) != final || len(small.accepted()) != 0 {
			t.Errorf("got %v: %s", of(out), out.Message)
		}
	})
	t.Run("cut within the text", func(t *testing.T) {
		server := startPost(t, nil)
		between := startProxy(t, server.address, "text", cutBefore, 0)
		out := call(t, t.Context(), account(t, between.address, func(o *mail.Options) { o.Attachments = store }), "mail_send", in)
		if of(out) != notSent || len(server.accepted()) != 0 {
			t.Errorf("got %v: %s", of(out), out.Message)
		}
	})
}
