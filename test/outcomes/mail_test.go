// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"encoding/json"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/test/installed"
	"github.com/deed-run/deed/test/pgcluster"
	"github.com/deed-run/deed/test/process"
)

// mailpit is a real SMTP server. It keeps every mail that it takes, twice if it
// takes it twice.
type mailpit struct{ smtp, api string }

func startMailpit(t *testing.T) mailpit {
	t.Helper()
	m := mailpit{smtp: process.FreeAddress(t), api: process.FreeAddress(t)}
	command := exec.Command(installed.Mailpit(t), "--smtp", m.smtp, "--listen", m.api,
		"--database", filepath.Join(t.TempDir(), "mailpit.db"), "--disable-version-check", "--quiet")
	server := process.Start(t, command)
	server.WaitListening(t, m.smtp)
	server.WaitListening(t, m.api)
	return m
}

func (m mailpit) holds(t *testing.T) int {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + m.api + "/api/v1/messages")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var list struct {
		Total int `json:"total"`
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return list.Total
}

// account is a mail account over the SMTP server, which looks mails up in
// Mailpit where it may.
func (m mailpit) account(t *testing.T, smtp string, looks bool) map[string]any {
	t.Helper()
	host, port, err := net.SplitHostPort(smtp)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	account := map[string]any{
		"account": "agent@example.org", "smtp": map[string]any{"host": host, "port": number, "security": "none"},
	}
	if looks {
		account["lookups"] = []any{map[string]any{"http": map[string]any{
			"url":   "http://" + m.api + "/api/v1/search?query=message-id:%22{message_id}%22",
			"count": "/messages_count", "show": "http://" + m.api + "/view/{id}",
		}}}
	}
	return account
}

// TestOneMailGoesOutWhateverDies is the demonstration: a real mail server takes
// a mail, its reply to the final dot is lost, the gateway is killed and
// restarted, and the agent sends its mail again.
func TestOneMailGoesOutWhateverDies(t *testing.T) {
	for _, c := range []struct {
		name        string
		door        faultkit.Door
		looks, hold bool
		postgres    bool
	}{
		{name: "the reply is cut and a look-up finds the mail", door: faultkit.HTTP, looks: true},
		{name: "the reply is cut and nothing can be looked up", door: faultkit.HTTP},
		{name: "the gateway dies before the reply and a look-up finds the mail", door: faultkit.HTTP, looks: true, hold: true},
		{name: "the gateway dies before the reply and nothing can be looked up", door: faultkit.HTTP, hold: true},
		{name: "the reply is cut and a look-up finds the mail, with the ledger in PostgreSQL", door: faultkit.HTTP, looks: true, postgres: true},
		{name: "the reply is cut and a look-up finds the mail, over standard streams", door: faultkit.Stdio, looks: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := startMailpit(t)
			between := newSMTPCut(t, server.smtp, c.hold)
			config := map[string]any{
				"connectors": map[string]any{"office": map[string]any{"mail": server.account(t, between.address, c.looks)}},
				"tools":      map[string]any{"office/mail_send": map[string]any{"effect": "non_idempotent", "marker": map[string]any{"into": "/operation_marker"}, "max_processing": "10m", "lease": "5s"}},
			}
			if c.postgres {
				config["ledger"] = newDatabase(t)
			}
			g := newGateway(t, c.door, "office", config)
			g.start()
			send := func() note {
				return g.call("mail_send", "mail:order-1042:shipped", map[string]any{
					"to": []string{"customer@example.com"}, "subject": "Order 1042 is on its way", "text": "It left today.",
				})
			}
			if c.hold {
				answered := make(chan note, 1)
				go func() { answered <- send() }()
				<-between.taken
				g.running.Kill()
				if first := <-answered; first.Decision != "" {
					t.Errorf("the killed gateway answered %s", first)
				}
			} else if first := send(); first.Status != "uncertain" {
				t.Errorf("the first call is %s", first)
			}
			g.kill()
			g.start()
			judgeMail(t, g, server, c.looks, send)
		})
	}
}

// judgeMail repeats the call until the dead process's lease is over, and checks
// what is known then.
func judgeMail(t *testing.T, g *gateway, server mailpit, looks bool, send func() note) {
	t.Helper()
	var again note
	await(t, "the repeated call is not in progress", func() bool {
		again = send()
		return again.Decision != "in_progress" && (!looks || again.Status != "uncertain")
	})
	op := g.operations()["mail:order-1042:shipped"]
	want, by := deed.StatusUncertain, "-"
	if looks {
		want, by = deed.StatusCommitted, "reconcile:"
	}
	if op.Status != want || !strings.HasPrefix(op.by(), by) || again.Status != string(want) {
		t.Errorf("the ledger says %s, established by %s, and the repetition was answered %s; want %s by %s", op.Status, op.by(), again, want, by)
	}
	if n := server.holds(t); n != 1 {
		t.Errorf("the mail server holds %d mails, want 1", n)
	}
	if op.Attempt != 1 {
		t.Errorf("%d attempts, want 1", op.Attempt)
	}
	if t.Failed() {
		t.Logf("the repetition's texts: %q", again.result.Texts)
		return
	}
	t.Logf("%s, established by %s; the mail server holds 1 mail", op.Status, op.by())
}

// newDatabase is an empty database of a PostgreSQL server of the test's own.
func newDatabase(t *testing.T) string {
	t.Helper()
	cluster, err := pgcluster.Start(pgcluster.Memory())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	if _, err := cluster.Database(t.Context(), "deed"); err != nil {
		t.Fatal(err)
	}
	return cluster.URL("deed")
}
