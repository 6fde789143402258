// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
)

// values are settings that fail as they are told.
type values struct {
	console.Settings
	reads, writes error
}

func (v *values) Setting(ctx context.Context, name string, update func([]byte) []byte) ([]byte, error) {
	if err := v.reads; err != nil && update == nil {
		return nil, err
	}
	if err := v.writes; err != nil && update != nil {
		return nil, err
	}
	return v.Settings.Setting(ctx, name, update)
}

func gone(t *testing.T, who *person, where string) {
	t.Helper()
	if w := who.get("/approvals"); w.Code != http.StatusSeeOther {
		t.Errorf("%s: HTTP %d", where, w.Code)
	}
}

func TestASessionIsKnownAtEveryGatewayAndEndsAtAll(t *testing.T) {
	here := newRig(t, nil)
	there := here.beside(nil)
	anna := here.as("approver-token")
	copied := &person{rig: here, cookies: anna.cookies}
	anna.rig = there
	want(t, anna.page("/approvals"), "anna", "approver")
	for range 3 {
		here.clock.Advance(50 * time.Minute)
		anna.page("/")
		copied.page("/")
	}
	if w := anna.post("/logout", nil); w.Header().Get("Location") != "/login" {
		t.Errorf("HTTP %d", w.Code)
	}
	gone(t, anna, "where it was ended")
	gone(t, copied, "where it was begun")
}

func TestLoggingInAgainEndsTheSessionBefore(t *testing.T) {
	r := newRig(t, nil)
	anna := r.as("approver-token")
	before := &person{rig: r, cookies: anna.cookies}
	anna.cookies = anna.post("/login", url.Values{"token": {"viewer-token"}}).Result().Cookies()
	want(t, anna.page("/"), "vera")
	gone(t, before, "the first")
}

func TestASessionMayDoWhatItsTokenMayDoNow(t *testing.T) {
	r := newRig(t, nil)
	anna := r.as("approver-token")
	after := func(who deed.Principal, known bool) *person {
		return &person{rig: r.beside(func(o *console.Options) {
			o.Tokens = func(string) (deed.Principal, bool) { return who, known }
		}), cookies: anna.cookies}
	}
	reader := people["approver-token"]
	reader.Rights = []deed.Right{deed.RightRead}
	want(t, after(reader, true).page("/approvals"), "anna", "You may look and not decide")
	reader.Rights = []deed.Right{deed.RightCall}
	gone(t, after(reader, true), "a token that may not read any more")
	gone(t, after(deed.Principal{}, false), "a token that was taken out of the configuration")
}

func TestTheLedgerHoldsNothingThatOpensASession(t *testing.T) {
	r := newRig(t, nil)
	anna := r.as("approver-token")
	doc, err := r.ledger.Setting(t.Context(), "console/sessions", nil)
	if err != nil || len(doc) == 0 {
		t.Fatalf("%q, %v", doc, err)
	}
	for _, secret := range []string{anna.cookies[0].Value, "approver-token"} {
		if strings.Contains(string(doc), secret) {
			t.Errorf("it holds %s", secret)
		}
	}
	stolen := strings.SplitN(string(doc), `"`, 3)[1]
	gone(t, &person{rig: r, cookies: []*http.Cookie{{Name: anna.cookies[0].Name, Value: stolen}}}, "with what the ledger holds")
}

func TestALedgerThatTakesNoWritesCanBeLookedAt(t *testing.T) {
	kept := &values{}
	r := newRig(t, func(o *console.Options) { kept.Settings, o.Sessions = o.Sessions, kept })
	known := r.as("viewer-token")
	kept.writes = errDown
	anna := r.as("approver-token")
	want(t, anna.page("/"), "anna")
	gone(t, &person{rig: r.beside(nil), cookies: anna.cookies}, "at another gateway")
	if w := anna.post("/logout", nil); w.Code != http.StatusServiceUnavailable || w.Result().Cookies()[0].MaxAge >= 0 {
		t.Errorf("HTTP %d", w.Code)
	}
	gone(t, anna, "after logging out")
	kept.reads = errDown
	w := known.get("/")
	if w.Code != http.StatusServiceUnavailable || len(w.Result().Cookies()) > 0 {
		t.Errorf("HTTP %d", w.Code)
	}
	want(t, w.Body.String(), "cannot be known who you are")
	kept.reads, kept.writes = nil, nil
	want(t, known.page("/"), "vera")
}
