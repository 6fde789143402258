// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import "testing"

func TestBudgets(t *testing.T) {
	r := newRig(t, nil)
	vera := r.as("viewer-token")
	want(t, vera.page("/budgets"), "refunds", `aria-label="0.00 spent and 0.00 held of 1000.00"`)
	r.call(refund, "refund:order-1:first", `{"order_id":"1","amount":12.50}`, success("re_1"))
	r.call(refund, "refund:order-2:first", `{"order_id":"2","amount":30}`, unknown())
	refused := r.call(refund, "refund:order-3:first", `{"order_id":"3","amount":960}`, nil)
	if refused.Reason != "budget_exceeded" {
		t.Errorf("it was answered %s(%s)", refused.Decision, refused.Reason)
	}
	want(t, vera.page("/budgets"), `aria-label="12.50 spent and 30.00 held of 1000.00"`, "957.50")
	sam := r.as("stranger-token")
	want(t, sam.page("/budgets"), `aria-label="0.00 spent and 0.00 held of 1000.00"`)
}
