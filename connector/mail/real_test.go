// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed/connector/mail"
	"github.com/deed-run/deed/internal/loopback"
)

// freePort is a port of the loopback interface that nobody else gets before t ends.
func freePort(t *testing.T) int {
	t.Helper()
	port, err := loopback.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = port.Close() })
	return port.Number
}

// await polls until ok, or fails with what the last try said.
func await(t *testing.T, what string, ok func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ok()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}

func listens(port int) func() error {
	return func() error {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
}

// installed is a program that scripts/setup-tests puts into the cache.
func installed(t *testing.T, name string) string {
	t.Helper()
	cache := os.Getenv("DEED_TEST_CACHE")
	if cache == "" {
		cache = filepath.Join("..", "..", ".cache")
	}
	path := filepath.Join(cache, "bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not installed; run scripts/setup-tests: %v", name, err)
	}
	return path
}

// run starts a program that ends with the test.
func run(t *testing.T, command *exec.Cmd) {
	t.Helper()
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Signal(os.Interrupt); _ = command.Wait() })
}

// TestALostReplyAtMailpit loses the reply to the final dot: Mailpit has the mail, the outcome is unknown, and the search finds it.
func TestALostReplyAtMailpit(t *testing.T) {
	smtpPort, httpPort := freePort(t), freePort(t)
	command := exec.Command(installed(t, "mailpit"), "--smtp", fmt.Sprintf("127.0.0.1:%d", smtpPort), "--listen", fmt.Sprintf("127.0.0.1:%d", httpPort),
		"--database", filepath.Join(t.TempDir(), "mailpit.db"), "--disable-version-check", "--quiet")
	run(t, command)
	await(t, "Mailpit", listens(smtpPort))
	await(t, "Mailpit's API", listens(httpPort))
	api := fmt.Sprintf("http://127.0.0.1:%d", httpPort)
	at := func(address string) *mail.Account {
		return account(t, address, func(o *mail.Options) {
			o.Lookups = []mail.LookupOptions{{HTTP: &mail.HTTPLookup{
				URL: api + "/api/v1/search?query=message-id:%22{message_id}%22", Count: "/messages_count", Show: api + "/view/{id}",
			}}}
		})
	}
	direct := fmt.Sprintf("127.0.0.1:%d", smtpPort)

	if finding, _, err := at(direct).Find(t.Context(), marker, time.Time{}); err != nil || len(finding.Matches) != 0 || !finding.Complete {
		t.Fatalf("before anything was sent: %+v, %v", finding, err)
	}
	between := startProxy(t, direct, "dot", cutAfter, 0)
	out := call(t, t.Context(), at(between.address), "mail_send", plainMail())
	if of(out) != open {
		t.Fatalf("got %v: %s", of(out), out.Message)
	}
	finding, by, err := at(direct).Find(t.Context(), marker, time.Time{})
	if err != nil || by != "http" || len(finding.Matches) != 1 || finding.Matches[0].ID != messageID || finding.Matches[0].URL == "" {
		t.Fatalf("the search found %+v, %v", finding, err)
	}
	if got := mailpitCount(t, api); got != 1 {
		t.Errorf("Mailpit holds %d mails", got)
	}

	// A mail server does not know what was sent before: the same Message-ID again is a second mail, and two hits.
	if out := call(t, t.Context(), at(direct), "mail_send", plainMail()); of(out) != accepted {
		t.Fatal(out.Message)
	}
	finding, _, err = at(direct).Find(t.Context(), marker, time.Time{})
	if err != nil || len(finding.Matches) != 2 || finding.Matches[0].ID == finding.Matches[1].ID {
		t.Errorf("after a second mail the search found %+v, %v", finding, err)
	}
}

func mailpitCount(t *testing.T, api string) int {
	t.Helper()
	response, err := http.Get(api + "/api/v1/messages")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	var list struct {
		Total int `json:"total"`
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return list.Total
}

// TestPostfixAndDovecot sends over Postfix into a mailbox of Dovecot: the server's log and IMAP both find the mail, a reply that is lost
// changes nothing of that, and the same Message-ID is put into the mailbox as often as it is sent.
func TestPostfixAndDovecot(t *testing.T) {
	office := startOffice(t)
	at := func(address string) *mail.Account {
		return account(t, address, func(o *mail.Options) {
			o.Now = time.Now
			o.IMAP = &mail.Server{Host: "127.0.0.1", Port: office.imap, Security: "none", Username: "agent", Password: "secret"}
			o.Lookups = []mail.LookupOptions{{Log: []string{office.log}}, {IMAP: []string{"INBOX"}}}
		})
	}
	direct := fmt.Sprintf("127.0.0.1:%d", office.smtp)
	in := args{"to": []string{"agent@example.org"}, "subject": "Hello", "text": "To myself."}
	since := time.Now().Add(-time.Second)

	between := startProxy(t, direct, "dot", cutAfter, 0)
	out := call(t, t.Context(), at(between.address), "mail_send", in)
	if of(out) != open {
		t.Fatalf("got %v: %s", of(out), out.Message)
	}
	for i, by := range []string{"log", "imap"} {
		await(t, "look-up by "+by, func() error {
			finding, err := at(direct).Lookups()[i].Find(t.Context(), marker, since)
			if err != nil || len(finding.Matches) != 1 || finding.Matches[0].ID != messageID {
				return fmt.Errorf("%+v, %w", finding, err)
			}
			return nil
		})
	}

	other := strings.Repeat("Q", 26)
	cut := startProxy(t, direct, "DATA", cutAfter, 0)
	if out := callMarked(t, t.Context(), at(cut.address), "mail_send", other, in); of(out) != notSent {
		t.Fatalf("got %v: %s", of(out), out.Message)
	}

	if out := call(t, t.Context(), at(direct), "mail_send", in); of(out) != accepted || structured(t, out)["queue_id"] == nil {
		t.Fatalf("got %v without a queue id: %s", of(out), out.Result)
	}
	for i, by := range []string{"log", "imap"} {
		await(t, "two mails by "+by, func() error {
			finding, err := at(direct).Lookups()[i].Find(t.Context(), marker, since)
			if err != nil || len(finding.Matches) != 2 {
				return fmt.Errorf("%+v, %w", finding, err)
			}
			return nil
		})
		if finding, err := at(direct).Lookups()[i].Find(t.Context(), other, since); err != nil || len(finding.Matches) != 0 {
			t.Errorf("a mail that was cut before its end is found by %s: %+v, %v", by, finding, err)
		}
	}
}
