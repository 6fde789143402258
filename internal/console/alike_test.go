// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"strings"
	"testing"
	"time"
)

func TestAnApproverSeesWhatElseThereIsAboutTheSame(t *testing.T) {
	const arguments, heading, late = `{"to":"acct_9","amount":900}`, "Others about the same matter", "One came after this one was asked for."
	r := newRig(t, nil)
	p := r.as("approver-token")
	first := r.call(payout, "payout:acct-9:week-8", arguments, nil).Operation
	if page := p.page("/op/" + string(first.ID)); strings.Contains(page, heading) {
		t.Error("others are shown where there are none")
	}
	r.call(payout, "payout:acct-7:week-8", `{"to":"acct_7","amount":900}`, nil)
	denied := r.call(payout, "payout:acct-9:week-0", arguments, nil).Operation
	r.clock.Advance(time.Minute)
	second := r.call(payout, "payout:acct-9:week-9", arguments, nil).Operation
	w := p.post("/op/"+string(denied.ID)+"/deny", map[string][]string{"digest": {string(denied.Approval.Digest)}, "reason": {"no"}})
	if w.Code != 303 {
		t.Fatalf("denying: HTTP %d: %s", w.Code, w.Body)
	}
	page := p.page("/op/" + string(second.ID))
	want(t, page, heading, "They were there before this one was asked for.", string(first.ID))
	if strings.Contains(page, string(denied.ID)) {
		t.Error("one that was denied is shown")
	}
	r.approved(first.ID, "approver-token")
	r.call(payout, "payout:acct-9:week-8", arguments, success("po_1"))
	want(t, p.page("/op/"+string(second.ID)), "po_1")
	want(t, p.page("/op/"+string(second.ID)), heading)
	third := r.call(payout, "payout:acct-9:week-7", arguments, nil).Operation
	r.clock.Advance(time.Minute)
	r.call(payout, "payout:acct-9:week-6", arguments, nil)
	want(t, p.page("/op/"+string(third.ID)), late)

	// A tool that names no matter: what has the same effect.
	gold := r.call(label, "label:contact-7:gold", `{"contact":"7","label":"gold"}`, nil).Operation
	r.call(label, "label:contact-8:gold", `{"contact":"8","label":"gold"}`, nil)
	if page := p.page("/op/" + string(gold.ID)); strings.Contains(page, "Others ") {
		t.Error("another effect is shown")
	}
	r.call(label, "label:contact-7:gold-again", `{"contact":"7","label":"gold"}`, nil)
	want(t, p.page("/op/"+string(gold.ID)), "Others with the same effect")
}
