// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package consent_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// kills is how many kills each ledger gets.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("DEED_KILLS")
	switch {
	case text == "" && os.Getenv("DEED_CAMPAIGN") == "1":
		return 500
	case text == "":
		return 9
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("DEED_KILLS=%q is no number of kills", text)
	}
	return n
}

// errand is one refund that a person approves while gateways die.
type errand struct {
	tool, order string
	operation   api.Operation
	// approved: the approver was told so.
	approved bool
	// end is how it stood in the end.
	end string
}

func ended(errands []*errand) map[string]int {
	ends := map[string]int{}
	for _, e := range errands {
		ends[e.end]++
	}
	return ends
}

// A third of the kills comes at any moment, the others before the transaction that
// spends the approval and begins the attempt (P1), and right after it (P2).
func TestAKillNeitherLosesAnApprovalNorSpendsItTwice(t *testing.T) {
	for _, ledger := range []string{inSQLite, inPostgreSQL} {
		t.Run(ledger, func(t *testing.T) {
			d := open(t, ledger, nil)
			var errands []*errand
			for n := range kills(t) {
				errands = append(errands, d.round(n)...)
			}
			g := d.start(program)
			var checks sync.WaitGroup
			limit := make(chan struct{}, 16)
			for _, e := range errands {
				checks.Go(func() {
					limit <- struct{}{}
					d.check(g, e)
					<-limit
				})
			}
			checks.Wait()
			t.Logf("%d kills, %d approvals: %v", kills(t), len(errands), ended(errands))
		})
	}
}

// round lets four approvals meet one kill.
func (d *desk) round(n int) []*errand {
	d.Helper()
	point := []string{"", "P1", "P2"}[n%3]
	g := d.start(program)
	var errands []*errand
	for i := range 4 {
		e := &errand{tool: []string{"pay.refund", "pay.charge"}[i%2], order: fmt.Sprintf("order-%d-%d", n, i)}
		e.operation = d.propose(g, e.tool, e.order)
		errands = append(errands, e)
	}
	if point != "" {
		g.process.Kill()
		g = d.start(crashing, "DEED_CRASH_AT="+point)
	}
	var work sync.WaitGroup
	for i, e := range errands {
		work.Go(func() {
			_, err := d.as(approver(i), g).Approve(d.Context(), e.operation.OperationID, api.ApproveRequest{Digest: e.operation.Approval.Digest})
			if e.approved = err == nil; e.approved {
				_, _ = d.call(g, e.tool, e.order, 47)
			}
		})
	}
	if point == "" {
		timer := time.NewTimer(time.Duration(rand.IntN(60)) * time.Millisecond)
		<-timer.C
		g.process.Kill()
	}
	work.Wait()
	g.process.Kill()
	return errands
}

// check asks the survivors: what was approved runs without being approved again,
// unless it may have run.
func (d *desk) check(g *gateway, e *errand) {
	d.Helper()
	told := d.settled(g, e.tool, e.order)
	if told.Decision == deed.AwaitingApproval {
		if e.approved {
			d.Errorf("%s was approved, and the approval is lost", e.order)
			return
		}
		// The approver was not told; it may be given now, once.
		_, err := d.as(approver(1), g).Approve(d.Context(), e.operation.OperationID, api.ApproveRequest{Digest: e.operation.Approval.Digest})
		if _, refused := api.AsProblem(err); err != nil && !refused {
			d.Errorf("%s: %v", e.order, err)
		}
		told = d.settled(g, e.tool, e.order)
	}
	requests, effects := d.books(e.order)
	e.end = fmt.Sprintf("%s, approver told %t, %d effects", told.Decision, e.approved, effects)
	committed := told.Operation != nil && told.Operation.Status == deed.StatusCommitted
	switch {
	case requests > 1 || effects > 1:
		d.Errorf("%s: one approval, %d requests, %d effects", e.order, requests, effects)
	case committed && effects != 1 || !committed && told.Decision != deed.Uncertain:
		d.Errorf("%s is answered %s (%s) and has %d effects", e.order, told.Decision, told.Reason, effects)
	}
	if op := told.Operation; op != nil && op.Attempt != 1 {
		d.Errorf("%s: one approval, %d attempts", e.order, op.Attempt)
	}
}
