// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

func TestOverviewSaysWhatNeedsAPerson(t *testing.T) {
	r := newRig(t, nil)
	olga := r.as("operator-token")
	want(t, olga.page("/"), "Nothing waits for a person.", "There are no operations yet.", "every outcome is known")

	r.call(refund, "refund:order-1042:first", `{"order_id":"1042","amount":12}`, unknown())
	r.call(payout, "payout:week-9:first", `{"to":"acct_9","amount":900}`, nil)
	r.clock.Advance(26 * time.Minute)
	want(t, olga.page("/"), "oldest for 26 min", "first lapses", "waiting for approval", "payments/refund", "Decisions of the last hour")
}

func TestWhatNoLookUpSettlesComesFirst(t *testing.T) {
	r := newRig(t, nil)
	olga := r.as("operator-token")
	older := r.call(refund, "refund:order-1:first", `{"order_id":"1","amount":1}`, unknown()).Operation
	r.clock.Advance(time.Minute)
	stuck := r.call(refund, "refund:order-2:first", `{"order_id":"2","amount":1}`, unknown()).Operation
	want(t, olga.page("/"), `<span class="figure">0</span><span class="label">only a person can settle`)
	r.clock.Advance(2 * time.Hour)
	if _, err := r.rt.Reconcile(t.Context(), people["operator-token"], stuck.ID); err != nil {
		t.Fatal(err)
	}
	olga = r.as("operator-token")
	want(t, olga.page("/"), `<span class="figure">1</span><span class="label">only a person can settle`, "look-ups gave up")
	page := olga.page("/uncertain")
	want(t, page, "a person must decide")
	if strings.Index(page, string(stuck.ID)) > strings.Index(page, string(older.ID)) {
		t.Error("it comes after one that a look-up may settle")
	}
	want(t, olga.page("/op/"+string(stuck.ID)), "Look-ups ended without an answer: a person must decide", "Given up")
}

func TestLedgerFiltersByItsAddress(t *testing.T) {
	r := newRig(t, nil)
	done := r.call(refund, "refund:order-1:first", `{"order_id":"1","amount":1}`, success("re_100")).Operation
	r.clock.Advance(3 * time.Hour)
	doubt := r.call(refund, "refund:order-2:first", `{"order_id":"2","amount":2}`, unknown()).Operation
	waits := r.call(payout, "payout:week-9:first", `{"to":"acct_9"}`, nil).Operation
	all := map[string]deed.OperationID{"done": done.ID, "doubt": doubt.ID, "waits": waits.ID}
	vera := r.as("viewer-token")
	for _, test := range []struct{ address, shown string }{
		{"/ledger", "done doubt waits"},
		{"/ledger?status=uncertain", "doubt"},
		{"/ledger?status=pending", "waits"},
		{"/ledger?status=-uncertain", "done waits"},
		{"/ledger?status=-status:uncertain+-pending", "done"},
		{"/ledger?tool=payments/payout", "waits"},
		{"/ledger?actor=support-agent&status=accepted", "done"},
		{"/ledger?actor=nobody", ""},
		{"/ledger?key=refund:order-2:first", "doubt"},
		{"/ledger?fingerprint=" + string(done.Fingerprint), "done"},
		{"/ledger?text=RE_100", "done"},
		{"/ledger?text=re_100&status=uncertain", ""},
		{"/ledger?since=1h", "doubt waits"},
		{"/ledger?until=1h", "done"},
		{"/ledger?since=2026-03-02T14:00Z&tool=payments/refund", "doubt"},
	} {
		page := vera.page(test.address)
		for name, id := range all {
			if shown := strings.Contains(page, string(id)); shown != strings.Contains(test.shown, name) {
				t.Errorf("%s: %s shown: %v", test.address, name, shown)
			}
		}
	}
	want(t, vera.page("/ledger?actor=nobody"), "No operation matches this filter")
	for _, address := range []string{"/ledger?status=unsure", "/ledger?since=yesterday", "/ledger?status=failed+-failed"} {
		if w := vera.get(address); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "Nothing was looked up") {
			t.Errorf("%s: HTTP %d", address, w.Code)
		}
	}
}

func TestLedgerPagesByKey(t *testing.T) {
	r := newRig(t, nil)
	for i := range 120 {
		r.clock.Advance(time.Second)
		r.call(refund, "refund:order-"+time.Duration(i).String()+":first", `{"order_id":"`+time.Duration(i).String()+`","amount":1}`, success("re"))
	}
	vera := r.as("viewer-token")
	seen := 0
	for address := "/ledger"; address != ""; {
		page := vera.page(address)
		if live := strings.Contains(page, "data-live="); live != (address == "/ledger") {
			t.Errorf("%s looks for what is new: %v", address, live)
		}
		seen += strings.Count(page, "<tr data-row>")
		address = ""
		if _, rest, found := strings.Cut(page, `href="/ledger?before=`); found {
			if cut, _, ok := strings.Cut(rest, `" rel="next"`); ok && len(cut) < 40 {
				address = "/ledger?before=" + cut
			}
		}
	}
	if seen != 120 {
		t.Errorf("the pages together show %d operations, want 120", seen)
	}
}

func TestRowsLoadNoPayloads(t *testing.T) {
	r := newRig(t, nil)
	r.call(refund, "refund:order-1:first", `{"order_id":"1","amount":1,"note":"canary-in-the-arguments"}`, success("re_1"))
	vera := r.as("viewer-token")
	for _, address := range []string{"/", "/ledger", "/uncertain", "/approvals", "/export?format=csv", "/export?format=ndjson"} {
		if strings.Contains(vera.page(address), "canary") {
			t.Errorf("%s shows arguments", address)
		}
	}
}

func TestAFailedQueryIsNeverAnEmptyAnswer(t *testing.T) {
	r := newRig(t, nil)
	vera := r.as("viewer-token")
	r.store.fail(errDown)
	for _, address := range []string{"/", "/ledger", "/ledger?status=failed", "/uncertain", "/approvals", "/export?format=csv"} {
		w := vera.get(address)
		body := w.Body.String()
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(body, "not the same as an empty answer") {
			t.Errorf("%s: HTTP %d: %s", address, w.Code, body)
		}
		for _, lie := range []string{"There are no operations", "No operation matches", "Nothing is uncertain", "Nothing waits", "secret-place"} {
			if strings.Contains(body, lie) {
				t.Errorf("%s says %q while the ledger is down", address, lie)
			}
		}
	}
}

func TestOperationPageTellsEverything(t *testing.T) {
	r := newRig(t, nil)
	call := callOf(refund, "refund:order-1042:first", `{"order_id":"1042","amount":12,"note":"late parcel"}`)
	call.Meta = map[string]string{"conversation": "c-77", deed.MetaTraceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	op := r.make(call, success("re_1")).Operation
	r.make(call, nil)
	r.make(call, nil)
	page := r.as("viewer-token").page("/op/" + string(op.ID))
	want(t, page, "It happened once.", "refund:order-1042:first", "runtime", "re_1", `href="https://pay.example/re_1"`, "accepted by the provider",
		"late parcel", "Attempt 1 began", "The upstream answered: done", "Answered a repeat from the record: nothing was sent", "× 2",
		`href="https://traces.example/trace/0af7651916cd43dd8448eb211c80319c"`, "c-77", "succeeded", "deed ops show "+string(op.ID), "curl -sS", "12.00 EUR spent")
	if w := r.as("stranger-token").get("/op/" + string(op.ID)); w.Code != http.StatusNotFound {
		t.Errorf("another tenant sees it: HTTP %d", w.Code)
	}
}

func TestResolving(t *testing.T) {
	for _, test := range []struct {
		name string
		form url.Values
		code int
		now  deed.Status
		say  string
	}{
		{"it happened", url.Values{"outcome": {"committed"}, "remote_ids": {"re_9"}, "reason": {"seen in the dashboard"}}, 303, deed.StatusCommitted, "Recorded: it happened."},
		{"it did not", url.Values{"outcome": {"not_applied"}, "reason": {"not in the list"}}, 303, deed.StatusFailed, "may send it again"},
		{"nobody can find out", url.Values{"outcome": {"abandon"}, "reason": {"the provider keeps no list"}}, 303, deed.StatusUncertain, "Abandoned"},
		{"a reason is mandatory", url.Values{"outcome": {"committed"}, "reason": {"  "}}, 400, deed.StatusUncertain, "The reason is missing"},
		{"an outcome is mandatory", url.Values{"reason": {"because"}}, 400, deed.StatusUncertain, "Say whether it happened"},
		{"a stale page decides nothing", url.Values{"outcome": {"committed"}, "reason": {"because"}, "version": {"1"}}, 409, deed.StatusUncertain, "Somebody was faster"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			op := r.call(refund, "refund:order-1042:first", `{"order_id":"1042","amount":12}`, unknown()).Operation
			olga := r.as("operator-token")
			page := olga.page("/op/" + string(op.ID))
			want(t, page, "payments may have executed this. Nobody knows yet.", "sends it again", "This cannot be taken back", "the connection broke after 412 bytes", "<dt>Unknown since</dt>")
			if strings.Contains(page, "<dt>Settled</dt>") {
				t.Error("what nobody knows is called settled")
			}
			w := olga.post("/op/"+string(op.ID)+"/resolve", test.form)
			if w.Code != test.code {
				t.Fatalf("HTTP %d, want %d: %s", w.Code, test.code, w.Body)
			}
			body := w.Body.String()
			if w.Code == http.StatusSeeOther {
				body = olga.page(w.Header().Get("Location"))
			}
			want(t, body, test.say)
			if got := r.status(op.ID); got != test.now {
				t.Errorf("it is %s, want %s", got, test.now)
			}
		})
	}
}

func TestTypedTextSurvivesARefusal(t *testing.T) {
	r := newRig(t, nil)
	op := r.call(refund, "refund:order-1042:first", `{"order_id":"1042","amount":12}`, unknown()).Operation
	w := r.as("operator-token").post("/op/"+string(op.ID)+"/resolve", url.Values{
		"outcome": {"committed"}, "remote_ids": {"re_typed"}, "reason": {"typed with care"}, "version": {"1"},
	})
	want(t, w.Body.String(), "re_typed", "typed with care")
}
