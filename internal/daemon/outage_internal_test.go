// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

func TestAnOutageOfTheLedgerIsALineForEachChange(t *testing.T) {
	clock := storetest.NewClock(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	var said []string
	o := &outage{ledger: "ledger.db", clock: clock, log: func(text string) { said = append(said, text) }}
	op := &deed.Operation{ID: "op_1", Tool: "pay/refund"}
	refused := deed.Answer{Decision: deed.Denied, Reason: deed.ReasonStoreUnavailable, Text: "the disk is full"}
	lost := deed.Answer{Decision: deed.Uncertain, Reason: deed.ReasonOutcomeUnknown, Unrecorded: true, Operation: op, Text: "the disk is full"}

	o.answered(deed.Answer{Decision: deed.Execute, Operation: op})
	o.answered(deed.Answer{Decision: deed.Uncertain, Reason: deed.ReasonOutcomeUnknown, Operation: op})
	o.checked(nil)
	o.answered(lost)
	for range 100 {
		o.answered(refused)
		o.answered(lost)
		o.checked(errors.New("the disk is full"))
		// What is only counted, such as a refusal, is no write that was taken.
		o.heard(deed.Event{Name: deed.EventName(deed.Denied), OperationID: op.ID})
	}
	if !o.stands() {
		t.Error("the outage is over before a write was taken")
	}
	clock.Advance(20 * time.Second)
	o.heard(deed.Event{Name: deed.EventSucceeded, OperationID: op.ID, Tool: op.Tool, From: deed.StatusExecuting, To: deed.StatusCommitted})
	o.checked(nil)
	o.checked(errors.New("no route to host"))
	for range 10 {
		o.checked(nil)
		o.answered(refused)
	}
	want := []string{
		"ledger ledger.db takes no writes: the disk is full; calls that change something are refused until it does; deed doctor looks at it",
		"op_1 (pay/refund) was sent and what became of it could not be recorded; this process keeps it and goes on trying: do not kill it before the ledger takes writes",
		"ledger ledger.db takes writes again, after 20s",
		"op_1 (pay/refund): what became of it is recorded now: committed",
		"ledger ledger.db takes no writes: no route to host; calls that change something are refused until it does; deed doctor looks at it",
		"ledger ledger.db takes writes again, after 0s",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}
