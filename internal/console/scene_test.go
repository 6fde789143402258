// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// scene is a ledger as it looks on a working day, with the pages it has.
type scene struct {
	done, doubt, waits, tick, hostile deed.OperationID
	// pages are what a person sees, by name.
	pages []scenePage
}

type scenePage struct{ name, path string }

// hostileText tries what hides: a script, markup, an override that turns the
// text around, a terminal's command, characters of no width, and tags.
const hostileText = "<script>window.owned=1</script><img src=x onerror=window.owned=1> invoice\u202egpj.exe\u202c pay\u200bpal\U000E0041\U000E0042 {{.}} javascript:alert(1)"

func (r *rig) scene() scene {
	r.t.Helper()
	var s scene
	refundOf := func(order int, amount string, out *deed.Outcome) deed.Answer {
		call := callOf(refund, fmt.Sprintf("refund:order-%d:first", order), fmt.Sprintf(`{"order_id":"%d","amount":%s,"currency":"EUR","note":"parcel arrived damaged"}`, order, amount))
		call.Meta = map[string]string{"conversation": fmt.Sprintf("conv-%d", order/10), deed.MetaTraceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
		answer := r.make(call, out)
		r.clock.Advance(7 * time.Second)
		return answer
	}
	refundOf(1001, "19.90", unknown())
	r.clock.Advance(70 * time.Minute)
	first := r.call(payout, "payout:acct-9:week-8", `{"to":"acct_9","amount":900,"currency":"EUR","memo":"week 8"}`, nil)
	r.approved(first.Operation.ID, "approver-token")
	r.call(payout, "payout:acct-9:week-8", `{"to":"acct_9","amount":900,"currency":"EUR","memo":"week 8"}`, success("po_8"))
	r.clock.Advance(26 * time.Minute)
	for i := range 9 {
		refundOf(1010+i, fmt.Sprintf("%d.50", 10+i), success(fmt.Sprintf("re_%d", 4000+i)))
	}
	s.done = refundOf(1042, "12.00", success("re_4042")).Operation.ID
	for range 3 {
		refundOf(1042, "12.00", nil)
	}
	refundOf(1042, "19.00", nil)
	r.call(refund, "refund:order-1042:corrected", `{"order_id":"1042","amount":19.00,"currency":"EUR","note":"parcel arrived damaged"}`, success("re_4043"))
	refundOf(1050, "3.00", &deed.Outcome{Kind: deed.OutcomeRefused, Final: true, Reason: deed.ReasonRefused, Message: "charge ch_1050 was refunded already"})
	refundOf(1051, "8.40", &deed.Outcome{Kind: deed.OutcomeUnsent, Reason: deed.ReasonNotSent, Message: "connection refused"})
	s.doubt = refundOf(1060, "45.00", unknown()).Operation.ID
	refundOf(1060, "45.00", nil)
	if _, err := r.rt.Reconcile(r.t.Context(), people["operator-token"], s.doubt); err != nil {
		r.t.Fatal(err)
	}
	refundOf(1061, "5.00", &deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonToolError, Message: "Internal error: please contact support"})
	s.waits = r.call(payout, "payout:acct-9:week-9", `{"to":"acct_9","amount":9000,"currency":"EUR","memo":"week 9","urgent":true}`, nil).Operation.ID
	s.hostile = r.call(payout, "payout:hostile:first-one", `{"to":"acct_13","amount":1,"memo":`+jsonText(hostileText)+`,"esc":"\u001b[2J\u202e","ansi":"\u001b]0;owned\u0007"}`, nil).Operation.ID
	s.tick = r.call(label, "label:contact-7:gold", `{"contact":"7","label":"gold"}`, nil).Operation.ID
	r.call(label, "label:contact-8:gold", `{"contact":"8","label":"gold"}`, nil)
	r.call(payroll, "payroll:2026-03:first", `{"month":"2026-03","total":48000}`, nil)
	r.clock.Advance(4 * time.Minute)
	s.pages = []scenePage{
		{"overview", "/"}, {"ledger", "/ledger"}, {"ledger-filtered", "/ledger?status=uncertain&tool=payments/refund&since=7d"},
		{"operation", "/op/" + string(s.done)}, {"resolve", "/op/" + string(s.doubt)}, {"conflicts", "/op/" + string(s.done) + "/conflicts"},
		{"uncertain", "/uncertain"}, {"approvals", "/approvals"}, {"approve", "/op/" + string(s.waits)}, {"hostile", "/op/" + string(s.hostile)},
		{"budgets", "/budgets"},
	}
	return s
}

func (r *rig) approved(id deed.OperationID, token string) {
	r.t.Helper()
	op, err := r.rt.Get(r.t.Context(), people[token], id)
	if err == nil {
		_, err = r.rt.Approve(r.t.Context(), people[token], id, deed.Consent{Digest: op.Approval.Digest})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// jsonText quotes a text and escapes nothing that JSON does not make it escape.
func jsonText(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
