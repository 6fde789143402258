// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package consent_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/sqlite"
)

// kills is how many approvals each ledger is to have caught by a kill.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("DEED_KILLS")
	switch {
	case text == "" && os.Getenv("DEED_CAMPAIGN") == "1":
		return 1000
	case text == "":
		return 100
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("DEED_KILLS=%q is no number of kills", text)
	}
	return n
}

// together is how many approvals are under way when a gateway dies.
const together = 6

// errand is one refund that a person approves while gateways die.
type errand struct {
	tool, order string
	operation   api.Operation
	// approved: the approver was told so.
	approved bool
	// end is how it stood in the end.
	end string
}

// slaughter counts what kills met.
type slaughter struct {
	// deaths are those of processes; caught are the approvals that the ledger
	// held, right after one, as given and not settled: undispatched are those of
	// them that no attempt was written for.
	deaths, caught, undispatched int
	errands                      []*errand
}

func (s *slaughter) String() string {
	ends := map[string]int{}
	for _, e := range s.errands {
		ends[e.end]++
	}
	return fmt.Sprintf("%d approvals caught by %d kills, %d of them before dispatch, of %d: %v", s.caught, s.deaths, s.undispatched, len(s.errands), ends)
}

// A third of the kills comes at any moment, the others before the transaction that
// spends the approval and begins the attempt is committed (P1), and right after
// it (P2). What counts as caught is an approval that the ledger holds as given,
// and not as settled, once the process is dead.
func TestAKillNeitherLosesAnApprovalNorSpendsItTwice(t *testing.T) {
	for _, ledger := range []string{inSQLite, inPostgreSQL} {
		t.Run(ledger, func(t *testing.T) {
			t.Parallel()
			d := open(t, ledger, nil)
			look := d.looking()
			var all slaughter
			var waiting []*errand
			for n := 0; all.caught < kills(t); n++ {
				if len(waiting) == 0 {
					waiting = d.proposals(n)
				}
				d.round(n, waiting[:together], look, &all)
				waiting = waiting[together:]
			}
			g := d.start(program)
			var checks sync.WaitGroup
			limit := make(chan struct{}, 16)
			for _, e := range all.errands {
				checks.Go(func() {
					limit <- struct{}{}
					d.check(g, e)
					<-limit
				})
			}
			checks.Wait()
			t.Log(&all)
		})
	}
}

// looking opens the ledger beside the gateways, only to read.
func (d *desk) looking() deed.Store {
	d.Helper()
	var store interface {
		deed.Store
		Close() error
	}
	var err error
	if address, is := strings.CutPrefix(d.place, "sqlite:"); is {
		store, err = sqlite.Open(d.Context(), address, sqlite.Options{})
	} else {
		store, err = postgres.Open(d.Context(), d.place, postgres.Options{})
	}
	d.must(err)
	d.Cleanup(func() {
		if err := store.Close(); err != nil {
			d.Error(err)
		}
	})
	return store
}

// proposals makes calls that wait for a person, for some rounds. The gateway that
// takes them is gone before the first is approved: it would send them itself.
func (d *desk) proposals(n int) []*errand {
	d.Helper()
	g := d.start(program)
	errands := make([]*errand, 8*together)
	for i := range errands {
		e := &errand{tool: []string{"pay.refund", "pay.charge"}[i%2], order: fmt.Sprintf("order-%d-%d", n, i)}
		e.operation = d.propose(g, e.tool, e.order)
		errands[i] = e
	}
	g.process.Kill()
	return errands
}

// round lets approvals meet one kill.
func (d *desk) round(n int, errands []*errand, look deed.Store, all *slaughter) {
	d.Helper()
	all.errands, all.deaths = append(all.errands, errands...), all.deaths+1
	var g *gateway
	point := []string{"", "P1", "P2"}[n%3]
	if point == "" {
		g = d.start(program)
	} else if g = d.tryToStart(crashing, "DEED_CRASH_AT="+point); g == nil {
		return // what was approved earlier met the point before anybody could connect
	}
	answers := make(chan struct{}, 2*len(errands))
	var work sync.WaitGroup
	for i, e := range errands {
		work.Go(func() {
			_, err := d.as(approver(i), g).Approve(d.Context(), e.operation.OperationID, api.ApproveRequest{Digest: e.operation.Approval.Digest})
			answers <- struct{}{}
			if e.approved = err == nil; e.approved {
				_, _ = d.call(g, e.tool, e.order, 47)
			}
			answers <- struct{}{}
		})
	}
	if point == "" {
		// At a moment of the work, not of the clock: machines differ.
		for range rand.IntN(2 * len(errands)) {
			<-answers
		}
		g.process.Kill()
	}
	work.Wait()
	g.process.Kill()
	ours := map[deed.OperationID]bool{}
	for _, e := range errands {
		ours[e.operation.OperationID] = true
	}
	page, err := look.List(d.Context(), deed.Query{Tenant: "default", Statuses: []deed.Status{deed.StatusAuthorized, deed.StatusExecuting}, Limit: 1000})
	d.must(err)
	for _, op := range page.Operations {
		if !ours[op.ID] {
			continue
		}
		if all.caught++; op.Status == deed.StatusAuthorized {
			all.undispatched++
		}
	}
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
