// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// outage tells the log when the ledger stops taking writes, when it takes them again,
// and which outcomes could not be recorded meanwhile: a line for each change and for
// each operation, none for each call.
type outage struct {
	ledger string
	clock  deed.Clock
	log    func(string)
	// reach leads the command that it names to the ledger.
	reach leading

	mu    sync.Mutex
	since time.Time
	// toldAt is when an outage was last told to begin, silent that this one was not: a
	// single damaged record, asked for again and again, is no line for each call.
	toldAt time.Time
	silent bool
	// unrecorded are the operations whose outcome waits in this process.
	unrecorded map[deed.OperationID]bool
}

// outagesApart is how long after one outage was told another one is not.
const outagesApart = 10 * time.Second

// answered hears of what the ledger did to a call.
func (o *outage) answered(answer deed.Answer) {
	if !answer.Unrecorded && answer.Reason != deed.ReasonStoreUnavailable {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begins(answer.Text)
	op := answer.Operation
	if !answer.Unrecorded || op == nil || o.unrecorded[op.ID] {
		return
	}
	if o.unrecorded == nil {
		o.unrecorded = map[deed.OperationID]bool{}
	}
	o.unrecorded[op.ID] = true
	o.log(fmt.Sprintf("%s (%s) was sent and what became of it could not be recorded; this process keeps it and goes on trying: do not kill it before the ledger takes writes", op.ID, op.Tool))
}

// heard hears of a move of an operation that the ledger has taken.
func (o *outage) heard(event deed.Event) {
	if event.To == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ends()
	if o.unrecorded[event.OperationID] {
		delete(o.unrecorded, event.OperationID)
		o.log(fmt.Sprintf("%s (%s): what became of it is recorded now: %s", event.OperationID, event.Tool, event.To))
	}
}

// checked hears of a look whether the ledger takes writes.
func (o *outage) checked(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.begins(err.Error())
		return
	}
	o.ends()
}

// stands reports whether the ledger was last seen not to take writes.
func (o *outage) stands() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.since.IsZero()
}

func (o *outage) begins(why string) {
	if !o.since.IsZero() {
		return
	}
	o.since = o.clock.Now()
	if o.silent = !o.toldAt.IsZero() && o.since.Sub(o.toldAt) < outagesApart; o.silent {
		return
	}
	o.toldAt = o.since
	o.log(fmt.Sprintf("ledger %s takes no writes: %s; calls that change something are refused until it does; %s looks at it", o.ledger, why, o.reach.command("doctor")))
}

func (o *outage) ends() {
	if o.since.IsZero() {
		return
	}
	lasted := o.clock.Now().Sub(o.since).Round(time.Second)
	o.since = time.Time{}
	if o.silent {
		return
	}
	o.log(fmt.Sprintf("ledger %s takes writes again, after %s", o.ledger, lasted))
}
