// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
)

var digestField = regexp.MustCompile(`name="digest" value="([^"]+)"`)

// digestOn reads the digest that a proposal's page names.
func digestOn(t testing.TB, page string) string {
	t.Helper()
	found := digestField.FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("the page names no digest:\n%s", page)
	}
	return found[1]
}

func (r *rig) proposal(t testing.TB) *deed.Operation {
	t.Helper()
	op := r.call(payout, "payout:acct-9:week-9", `{"to":"acct_9","amount":900}`, nil).Operation
	if op.Status != deed.StatusAwaitingApproval {
		t.Fatalf("it is %s", op.Status)
	}
	return op
}

func TestDecidingAProposal(t *testing.T) {
	for _, test := range []struct {
		name, as, verb string
		form           url.Values
		code           int
		now            deed.Status
		say            string
	}{
		{"approving the digest that was shown", "approver-token", "approve", url.Values{}, 303, deed.StatusAuthorized, "Approved. It is sent at most once."},
		{"another digest is refused", "approver-token", "approve", url.Values{"digest": {"sha256:00"}}, 409, deed.StatusAwaitingApproval, "look at it again"},
		{"without a digest nothing is decided", "approver-token", "approve", url.Values{"digest": {""}}, 400, deed.StatusAwaitingApproval, "names no digest"},
		{"a viewer decides nothing", "viewer-token", "approve", url.Values{}, 403, deed.StatusAwaitingApproval, "takes the right"},
		{"denying tells why", "approver-token", "deny", url.Values{"reason": {"twice the usual amount"}}, 303, deed.StatusDenied, "twice the usual amount"},
		{"a denial needs a reason", "approver-token", "deny", url.Values{}, 400, deed.StatusAwaitingApproval, "The reason is missing: the agent is told it"},
		{"a viewer denies nothing", "viewer-token", "deny", url.Values{"reason": {"no"}}, 403, deed.StatusAwaitingApproval, "takes the right"},
		{"an edit that is no JSON is refused", "approver-token", "edit", url.Values{"arguments": {"{"}, "reason": {"less"}}, 400, deed.StatusAwaitingApproval, "Not taken"},
		{"a viewer edits nothing", "viewer-token", "edit", url.Values{"arguments": {"{}"}, "reason": {"less"}}, 403, deed.StatusAwaitingApproval, "takes the right"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			op := r.proposal(t)
			address := "/op/" + string(op.ID)
			p := r.as(test.as)
			if !test.form.Has("digest") {
				test.form.Set("digest", digestOn(t, r.as("approver-token").page(address)))
			}
			w := p.post(address+"/"+test.verb, test.form)
			if w.Code != test.code {
				t.Fatalf("HTTP %d, want %d: %s", w.Code, test.code, w.Body)
			}
			body := w.Body.String()
			if w.Code == http.StatusSeeOther {
				body = p.page(w.Header().Get("Location"))
			}
			want(t, body, test.say)
			if got := r.status(op.ID); got != test.now {
				t.Errorf("it is %s, want %s", got, test.now)
			}
		})
	}
}

func TestEditAndApproveShowsTheSuccessor(t *testing.T) {
	r := newRig(t, nil)
	op := r.proposal(t)
	anna := r.as("approver-token")
	address := "/op/" + string(op.ID)
	w := anna.post(address+"/edit", url.Values{
		"digest": {digestOn(t, anna.page(address))}, "arguments": {`{"to":"acct_9","amount":90}`}, "reason": {"a zero too many"},
	})
	if w.Code != http.StatusSeeOther {
		t.Fatalf("HTTP %d: %s", w.Code, w.Body)
	}
	want(t, anna.page(w.Header().Get("Location")), "takes the place of the old one", "It follows", string(op.ID), "Compare the two")
	want(t, anna.page(address), "Another operation took its place.")
	next, err := r.rt.Get(t.Context(), people["approver-token"], op.ID)
	if err != nil {
		t.Fatal(err)
	}
	want(t, anna.page("/compare?a="+string(op.ID)+"&b="+string(next.SupersededBy)), "/amount", "900", "90")
}

func TestAnEditIsRefusedInWordsAndChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		arguments string
		code      int
		words     []string
	}{
		"the schema forbids it": {`{"to":"acct_9","amount":"many"}`, http.StatusBadRequest, []string{"at &#39;/amount&#39;: got string, want number", "Nothing was decided.", "&#34;many&#34;"}},
		"nobody could check it": {`{"to":"acct_9","amount":404}`, http.StatusServiceUnavailable, []string{"The edit could not be checked", "its server did not say what it takes", "Nothing was changed.", "404"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			op := r.proposal(t)
			anna := r.as("approver-token")
			address := "/op/" + string(op.ID)
			w := anna.post(address+"/edit", url.Values{
				"digest": {digestOn(t, anna.page(address))}, "arguments": {c.arguments}, "reason": {"a zero too many"},
			})
			if w.Code != c.code {
				t.Errorf("HTTP %d", w.Code)
			}
			want(t, w.Body.String(), append(c.words, "a zero too many")...)
			now, err := r.rt.Get(t.Context(), people["approver-token"], op.ID)
			if err != nil || now.Version != op.Version || now.Status != deed.StatusAwaitingApproval {
				t.Errorf("it was written: %+v, %v", now, err)
			}
		})
	}
}

func TestSomebodyElseWasFirst(t *testing.T) {
	r := newRig(t, nil)
	op := r.proposal(t)
	anna, ben := r.as("approver-token"), r.as("second-token")
	address := "/op/" + string(op.ID)
	form := url.Values{"digest": {digestOn(t, ben.page(address))}, "reason": {"fine"}}
	if w := anna.post(address+"/approve", form); w.Code != http.StatusSeeOther {
		t.Fatalf("HTTP %d: %s", w.Code, w.Body)
	}
	for _, verb := range []string{"approve", "deny"} {
		w := ben.post(address+"/"+verb, form)
		if verb == "deny" && w.Code == http.StatusSeeOther {
			continue // an approval that nothing was begun under can be withdrawn
		}
		if w.Code != http.StatusConflict {
			t.Errorf("%s: HTTP %d", verb, w.Code)
		}
		want(t, w.Body.String(), "Decided elsewhere", "approved by anna")
	}
}

func TestNobodyApprovesTheirOwnRequest(t *testing.T) {
	r := newRig(t, nil)
	call := callOf(payout, "payout:acct-9:own", `{"to":"acct_9"}`)
	call.Principal = people["approver-token"]
	call.Principal.Rights = append([]deed.Right{deed.RightCall}, call.Principal.Rights...)
	op := r.make(call, nil).Operation
	anna := r.as("approver-token")
	page := anna.page("/op/" + string(op.ID))
	want(t, page, "You asked for this yourself")
	if strings.Contains(page, "Approve this call") {
		t.Error("the page offers what is refused")
	}
	w := anna.post("/op/"+string(op.ID)+"/approve", url.Values{"digest": {string(op.Approval.Digest)}})
	if w.Code != http.StatusForbidden || r.status(op.ID) != deed.StatusAwaitingApproval {
		t.Errorf("HTTP %d, it is %s", w.Code, r.status(op.ID))
	}
}

func TestTwoMustAgree(t *testing.T) {
	r := newRig(t, nil)
	op := r.call(payroll, "payroll:2026-03:first", `{"month":"2026-03"}`, nil).Operation
	anna, ben := r.as("approver-token"), r.as("second-token")
	form := url.Values{"digest": {string(op.Approval.Digest)}}
	w := anna.post("/op/"+string(op.ID)+"/approve", form)
	page := anna.page(w.Header().Get("Location"))
	want(t, page, "others must agree too", "You have consented. 1 of 2 are there.")
	ben.post("/op/"+string(op.ID)+"/approve", form)
	if got := r.status(op.ID); got != deed.StatusAuthorized {
		t.Errorf("it is %s", got)
	}
}

func TestApprovingTogether(t *testing.T) {
	r := newRig(t, nil)
	s := r.scene()
	anna := r.as("approver-token")
	for name, test := range map[string]struct {
		ids []string
		say string
	}{
		"nothing was ticked":           {nil, "Nothing was ticked"},
		"two tools":                    {[]string{string(s.tick), string(s.waits)}, "Only calls of one tool"},
		"a risk that is more than low": {[]string{string(s.waits)}, "medium risk"},
	} {
		w := anna.post("/approvals/review", url.Values{"id": test.ids})
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), test.say) {
			t.Errorf("%s: HTTP %d: %s", name, w.Code, w.Body)
		}
	}
	w := anna.post("/approvals/review", url.Values{"id": {string(s.tick)}})
	want(t, w.Body.String(), "gold", "Approve this call")
	if r.status(s.tick) != deed.StatusAwaitingApproval {
		t.Fatal("looking decided")
	}
	pair := regexp.MustCompile(`name="decide" value="([^"]+)"`).FindStringSubmatch(w.Body.String())[1]
	w = anna.post("/approvals/approve", url.Values{"decide": {pair}})
	want(t, w.Body.String(), string(s.tick)+": approved")
	if r.status(s.tick) != deed.StatusAuthorized {
		t.Errorf("it is %s", r.status(s.tick))
	}
	want(t, anna.post("/approvals/approve", url.Values{"decide": {pair}}).Body.String(), "not taken", "approved by anna")
	if w := anna.post("/approvals/approve", url.Values{"decide": {string(s.waits) + " sha256:00"}}); w.Code != http.StatusBadRequest || r.status(s.waits) != deed.StatusAwaitingApproval {
		t.Errorf("a forged form: HTTP %d", w.Code)
	}
}

func TestHighRiskWantsTheToolTyped(t *testing.T) {
	r := newRig(t, func(o *console.Options) {
		o.Risk = func(*deed.Operation) (console.Risk, string) { return console.RiskHigh, "it moves money" }
	})
	op := r.proposal(t)
	anna := r.as("approver-token")
	address := "/op/" + string(op.ID)
	want(t, anna.page(address), "high risk", "it moves money", "Type <code>payments/payout</code> to confirm")
	form := url.Values{"digest": {string(op.Approval.Digest)}}
	if w := anna.post(address+"/approve", form); w.Code != http.StatusBadRequest {
		t.Errorf("HTTP %d", w.Code)
	}
	form.Set("confirm", "payments/payout")
	if w := anna.post(address+"/approve", form); w.Code != http.StatusSeeOther {
		t.Errorf("HTTP %d: %s", w.Code, w.Body)
	}
}

func TestWhatIsNotShownWholeIsNotApprovedUnread(t *testing.T) {
	r := newRig(t, nil)
	op := r.call(payout, "payout:acct-9:long", `{"to":"acct_9","note":"`+strings.Repeat("x", 1<<20-64)+`"}`, nil).Operation
	anna := r.as("approver-token")
	address := "/op/" + string(op.ID)
	page := anna.page(address)
	want(t, page, "Only the beginning is shown.", "more bytes", "I downloaded the arguments and read all of them")
	form := url.Values{"digest": {string(op.Approval.Digest)}}
	if w := anna.post(address+"/approve", form); w.Code != http.StatusBadRequest {
		t.Errorf("HTTP %d", w.Code)
	}
	if got := anna.get(address + "/arguments"); got.Body.Len() < 1<<20-64 || !strings.HasPrefix(got.Header().Get("Content-Disposition"), "attachment") {
		t.Errorf("the download has %d bytes, %s", got.Body.Len(), got.Header())
	}
	form.Set("whole", "yes")
	if w := anna.post(address+"/approve", form); w.Code != http.StatusSeeOther {
		t.Errorf("HTTP %d: %s", w.Code, w.Body)
	}
}

// A mail scanner follows every link of a message. It decides nothing.
func TestGetChangesNothing(t *testing.T) {
	r := newRig(t, nil)
	s := r.scene()
	olga := r.as("operator-token")
	versions := func() map[deed.OperationID]int64 {
		page, err := r.rt.List(t.Context(), people["operator-token"], deed.Query{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		list := map[deed.OperationID]int64{}
		for _, op := range page.Operations {
			list[op.ID] = op.Version
		}
		return list
	}
	before := versions()
	for _, id := range []deed.OperationID{s.waits, s.doubt, s.done} {
		for _, verb := range []string{"", "/approve", "/deny", "/edit", "/resolve", "/cancel", "/reopen", "/probe", "/compare", "/conflicts", "/arguments"} {
			for _, query := range []string{"", "?digest=x&reason=y&outcome=committed"} {
				if w := olga.get("/op/" + string(id) + verb + query); w.Code >= 500 || w.Code == http.StatusSeeOther {
					t.Errorf("%s%s: HTTP %d", id, verb, w.Code)
				}
			}
		}
	}
	for _, path := range []string{"/approvals/review", "/approvals/approve", "/logout"} {
		olga.get(path + "?id=" + string(s.tick))
	}
	after := versions()
	for id, version := range before {
		if after[id] != version {
			t.Errorf("%s moved from version %d to %d", id, version, after[id])
		}
	}
}

func TestProbing(t *testing.T) {
	r := newRig(t, nil)
	op := r.call(refund, "refund:order-1042:first", `{"order_id":"1042","amount":12}`, unknown()).Operation
	olga := r.as("operator-token")
	address := "/op/" + string(op.ID)
	want(t, olga.page(address), "Run the probe")
	w := olga.post(address+"/probe", nil)
	if w.Code != http.StatusSeeOther {
		t.Fatalf("HTTP %d: %s", w.Code, w.Body)
	}
	want(t, olga.page(w.Header().Get("Location")), "The provider was asked", "Looked up: no answer either way", "search")
	if w := r.as("viewer-token").post(address+"/probe", nil); w.Code != http.StatusForbidden {
		t.Errorf("a viewer's probe: HTTP %d", w.Code)
	}
}

func TestCancellingAndReopening(t *testing.T) {
	r := newRig(t, nil)
	olga := r.as("operator-token")
	waits := r.proposal(t)
	if w := olga.post("/op/"+string(waits.ID)+"/cancel", url.Values{"reason": {"ordered elsewhere"}}); w.Code != http.StatusSeeOther || r.status(waits.ID) != deed.StatusCancelled {
		t.Errorf("cancel: HTTP %d: %s", w.Code, w.Body)
	}
	failed := r.call(refund, "refund:order-7:first", `{"order_id":"7","amount":1}`, &deed.Outcome{Kind: deed.OutcomeRefused, Final: true, Reason: deed.ReasonRefused}).Operation
	want(t, olga.page("/op/"+string(failed.ID)), "Let it be tried again", "It is final.")
	if w := olga.post("/op/"+string(failed.ID)+"/reopen", url.Values{}); w.Code != http.StatusBadRequest {
		t.Errorf("reopening without a reason: HTTP %d", w.Code)
	}
	w := olga.post("/op/"+string(failed.ID)+"/reopen", url.Values{"reason": {"funded now"}})
	want(t, olga.page(w.Header().Get("Location")), "The same call under its key may send it again")
}

func TestALapsedProposalWaitsForNobody(t *testing.T) {
	r := newRig(t, nil)
	r.proposal(t)
	r.clock.Advance(5 * time.Hour)
	want(t, r.as("approver-token").page("/approvals"), "Nothing waits for approval.")
}
