// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// contradict makes n operations that a person said did not happen and that
// evidence found, and returns them, oldest first.
func (r *rig) contradict(n int) []deed.OperationID {
	r.t.Helper()
	var ids []deed.OperationID
	for i := range n {
		order := fmt.Sprintf("70%02d", i)
		op := r.call(refund, "refund:order-"+order+":first", `{"order_id":"`+order+`","amount":2}`, unknown()).Operation
		if _, err := r.rt.Resolve(r.t.Context(), people["operator-token"], op.ID, deed.Resolution{Outcome: deed.ResolveNotApplied, Reason: "the provider does not list it", Force: true}); err != nil {
			r.t.Fatal(err)
		}
		proof := deed.Proof{Tenant: op.Tenant, Operation: op.ID, Attempt: 1, RemoteID: "re_" + order, EstablishedBy: deed.ByWebhook}
		if _, err := r.rt.Prove(r.t.Context(), proof); err != nil {
			r.t.Fatal(err)
		}
		ids = append(ids, op.ID)
		r.clock.Advance(time.Second)
	}
	return ids
}

func TestContradictionsAreFoundHoweverOldTheyAre(t *testing.T) {
	r := newRig(t, nil)
	vera := r.as("viewer-token")
	if page := vera.page("/"); strings.Contains(page, "Contradictions") {
		t.Errorf("the overview of a ledger without contradictions speaks of them:\n%s", page)
	}
	want(t, vera.page("/flags"), "No operation happened twice")
	flagged := r.contradict(52)
	for i := range 60 {
		r.call(refund, fmt.Sprintf("refund:order-%d:first", i), fmt.Sprintf(`{"order_id":"%d","amount":1}`, i), success(fmt.Sprintf("re_%d", i)))
	}
	overview := vera.page("/")
	want(t, overview, "Contradictions", "/op/"+string(flagged[51]), "/op/"+string(flagged[47]), `<a href="/flags">All contradictions</a>`)
	if strings.Contains(overview, string(flagged[46])) {
		t.Error("the overview shows more than the newest five")
	}
	first := vera.page("/flags")
	want(t, first, "contradicted", "/op/"+string(flagged[51]), "/op/"+string(flagged[2]), `href="/flags?before=`+string(flagged[2])+`"`)
	second := vera.page("/flags?before=" + string(flagged[2]))
	want(t, second, "/op/"+string(flagged[1]), "/op/"+string(flagged[0]), `<a class="button" href="/flags">Newest</a>`)
	if strings.Contains(second, "Older") || strings.Contains(second, "/op/"+string(flagged[2])) {
		t.Errorf("the last page shows\n%s", second)
	}
	r.store.fail(errDown)
	if w := vera.get("/flags"); w.Code != 503 || !strings.Contains(w.Body.String(), "the question was not answered") {
		t.Errorf("contradictions that could not be read: HTTP %d\n%s", w.Code, w.Body)
	}
}
