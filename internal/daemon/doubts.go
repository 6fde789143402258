// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/notify"
)

// doubts tells the log of every operation that becomes uncertain, and the webhooks of
// those that only a person can settle: at once where nothing looks them up, else when
// look-ups have ended or found too many.
type doubts struct {
	core *Core

	mu sync.Mutex
	// told are the attempts that webhooks have been told of.
	told map[attempt]bool
}

type attempt struct {
	operation deed.OperationID
	number    int
}

// mostTold bounds what is remembered; beyond it a notice may come twice.
const mostTold = 10_000

// hear looks at the operation on its own: whoever recorded the event does not wait.
// As a gateway ends it names all that it leaves in one line, named of it.
func (d *doubts) hear(event deed.Event, named bool) {
	begins := event.To == deed.StatusUncertain && event.From != deed.StatusUncertain
	ended := event.Name == deed.EventGaveUp || event.Name == deed.EventFoundMany
	if !begins && !ended {
		return
	}
	d.core.looks.Go(func() { d.look(event, begins && !named, ended) })
}

func (d *doubts) look(event deed.Event, logged, ended bool) {
	ctx, cancel := context.WithTimeout(context.Background(), noticePatience)
	defer cancel()
	who := deed.Principal{Tenant: event.Tenant, Actor: "notices", Rights: []deed.Right{deed.RightRead}}
	person := ended || d.core.reconciler() == nil || d.core.Policy.Rule(event.Tool, deed.ToolFacts{}).GiveUp <= 0
	number := event.Attempt
	op, err := d.core.Runtime.Get(ctx, who, event.OperationID)
	if err == nil {
		// It may be settled by now: then there is nobody to call.
		now := d.core.Clock.Now()
		_, task := d.core.taskOf(op, now)
		person = event.Name == deed.EventGaveUp || !task && d.core.Runtime.NeedsPerson(op, now)
		number = op.AttemptNumber()
	}
	if logged {
		d.core.log(doubtText(event, person, d.core.reach))
	}
	if person && d.core.notices != nil && d.first(attempt{event.OperationID, number}) {
		d.core.notices.tell(ctx, notify.Unresolved, event, op)
	}
}

// tell is look for whoever has the operation at hand and knows that a person must
// settle it.
func (d *doubts) tell(ctx context.Context, event deed.Event, op *deed.Operation) {
	if d.first(attempt{event.OperationID, event.Attempt}) {
		d.core.notices.tell(ctx, notify.Unresolved, event, op)
	}
}

// first reports whether the attempt was not told of yet, and notes it.
func (d *doubts) first(of attempt) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.told[of] {
		return false
	}
	if d.told == nil || len(d.told) >= mostTold {
		d.told = map[attempt]bool{}
	}
	d.told[of] = true
	return true
}

// doubtText is the line for whoever runs the gateway.
func doubtText(event deed.Event, person bool, reach leading) string {
	why := strings.ReplaceAll(string(event.Reason), "_", " ")
	if event.Name == deed.EventLeaseLost {
		why = "the process that sent it did not report back"
	}
	next := "it is looked up at the provider"
	if person {
		next = "nothing looks it up, so a person must find out what happened"
	}
	return fmt.Sprintf("%s (%s) is uncertain since %s: %s; %s; %s", event.OperationID, event.Tool, event.At.UTC().Format(time.RFC3339), why, next, reach.command("ops show", string(event.OperationID)))
}
