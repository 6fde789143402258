// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed/internal/console"
)

func TestAStandingFenceIsOnEveryPageAndOverWhatItHolds(t *testing.T) {
	var fence *console.Fence
	r := newRig(t, func(o *console.Options) { o.Fence = func() *console.Fence { return fence } })
	held := r.call(payout, "payout:week-9:first", `{"to":"acct_9","amount":900}`, nil).Operation
	done := r.call(refund, "refund:order-1:first", `{"order_id":"1","amount":1}`, success("re_100")).Operation
	anna := r.as("approver-token")
	pages := []string{"/", "/ledger", "/uncertain", "/approvals", "/op/" + string(held.ID), "/op/" + string(done.ID)}
	for _, page := range pages {
		if strings.Contains(anna.page(page), "A fence stands") {
			t.Errorf("%s tells of a fence where none stands", page)
		}
	}
	fence = &console.Fence{Since: noon.Add(-time.Hour), SetAt: noon, SetBy: "operator:ada", Reason: "restored <the> copy"}
	for _, page := range pages {
		text := anna.page(page)
		want(t, text, "<strong>A fence stands.</strong> The ledger has lost what was done from 2026-03-02 11:00:00 UTC to 2026-03-02 12:00:00 UTC.", `Set by <bdi class="inert">operator:ada</bdi>: “<bdi class="inert">restored &lt;the&gt; copy</bdi>”`)
		if warned := strings.Contains(text, "This may have been done already."); warned != strings.HasSuffix(page, string(held.ID)) {
			t.Errorf("%s warns of an effect that may have happened: %v", page, warned)
		}
	}
	want(t, anna.page("/op/"+string(held.ID)), `A fence stands: look at <bdi class="inert">payments</bdi> first, for the mark that the arguments carry`)
	if strings.Contains((&person{rig: r}).page("/login"), "A fence stands") {
		t.Error("whoever is not known is told of the fence")
	}
}
