// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// operationPage is everything about one operation.
type operationPage struct {
	*deed.Operation
	Now       time.Time
	Effective deed.Status
	Banner    banner
	Key       string
	Sent      payload
	Answer    payload
	Timeline  []moment
	Left      int
	Conflicts int
	Trace     string
	Commands  []command
	OnLedger  bool

	Resolve  *resolveForm
	Approval *approvalPanel
	// Fence stands over what waits for a person; nil for none.
	Fence *Fence
	// Cancels and Reopens say which other forms there are.
	Cancels bool
	Reopens bool
	Probes  bool
	// Problem is what went wrong with a form that was sent.
	Problem  string
	Problems failure
}

// resolveForm is what a person is asked about an uncertain operation, with what
// was typed so far.
type resolveForm struct {
	// Early says why it is too early to decide without force.
	Early   string
	Until   time.Time
	Outcome string
	Reason  string
	Remote  string
}

// operation shows GET /op/{id}.
func (v *visit) operation() { v.operationWith(http.StatusOK, nil) }

// operationWith shows an operation after change has put into the page what a
// form needs again.
func (v *visit) operationWith(status int, change func(*operationPage)) {
	op, err := v.console.Runtime.Get(v.Context(), v.who, v.id())
	if err != nil {
		v.failed(err)
		return
	}
	events, err := v.console.Runtime.Events(v.Context(), v.who, op.ID)
	if err != nil {
		v.failed(err)
		return
	}
	p := operationPage{
		Operation: op, Now: v.now, Effective: op.EffectiveStatus(v.now), Banner: bannerOf(op, v.now), Key: keyOf(op),
		Sent: payloadOf(op.Arguments), Answer: payloadOf(op.Result), Trace: v.console.trace(op), Commands: v.commandsFor(op), OnLedger: v.console.Ledger != "",
	}
	p.Timeline, p.Left = timelineOf(events)
	p.Conflicts = len(conflictsIn(events))
	v.offer(&p)
	if op.Status == deed.StatusAwaitingApproval {
		p.Fence = v.console.fence()
		if p.Approval, err = v.panel(op); err != nil {
			v.failed(err)
			return
		}
	}
	if change != nil {
		change(&p)
	}
	v.show(status, "operation", string(op.Tool), p)
}

// offer says which forms the operation's state permits.
func (v *visit) offer(p *operationPage) {
	resolves := v.who.May(deed.RightResolve)
	switch p.EffectiveState(v.now) {
	case deed.StateUncertain, deed.StateAbandoned:
		if resolves {
			p.Resolve = &resolveForm{}
			p.Probes = v.console.Probes != nil && p.EffectiveState(v.now) == deed.StateUncertain
			if a := p.Current(); a != nil && a.EndedAt.IsZero() && v.now.Before(a.SendBy.Add(earlyFor)) {
				p.Resolve.Early, p.Resolve.Until = "The process that sent it may still hear of it.", a.SendBy.Add(earlyFor)
			}
		}
	case deed.StateAwaitingApproval, deed.StateAuthorized, deed.StateFailedRetryable, deed.StateExecuting, deed.StateAwaitingInput:
		p.Cancels = (resolves || p.Actor == v.who.Actor && v.loggedIn) && !p.NoMoreAttempts
	case deed.StateFailedFinal:
		p.Reopens = resolves
	}
}

// earlyFor is the time after send_by in which a page mentions that it may be
// early to decide; the Runtime knows the tool's own and has the word.
const earlyFor = 10 * time.Minute

// trace is the link to the trace of the call that began an operation, empty
// when none is configured or known.
func (c *Console) trace(op *deed.Operation) string {
	if c.TraceURL == "" {
		return ""
	}
	id := ""
	if parts := strings.Split(op.Meta[deed.MetaTraceparent], "-"); len(parts) == 4 {
		id = parts[1]
	}
	if id == "" && strings.Contains(c.TraceURL, "{trace_id}") {
		return ""
	}
	return expand(c.TraceURL, op, id)
}

// remoteLink is where a receipt's object can be looked at: only over HTTP.
func remoteLink(r deed.Receipt) string {
	if strings.HasPrefix(r.RemoteURL, "https://") || strings.HasPrefix(r.RemoteURL, "http://") {
		return r.RemoteURL
	}
	return ""
}

// Links are the receipts with where their objects can be looked at.
func (p operationPage) Links() []receiptLine {
	var list []receiptLine
	for _, r := range p.Receipts {
		list = append(list, receiptLine{r, remoteLink(r)})
	}
	return list
}

type receiptLine struct {
	deed.Receipt
	Link string
}

// Facts are the searchable facts of the call in the order of their names.
func (p operationPage) Facts() [][2]string {
	var list [][2]string
	for name, value := range p.Meta {
		list = append(list, [2]string{name, value})
	}
	slices.SortFunc(list, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return list
}

// Why is the reason in words, where it says more than the status.
func (p operationPage) Why() string { return reasonWords(p.Operation) }

// Subject is the matter in words.
func (p operationPage) Subject() string { return matterWords(p.Matter) }

// Twice is the link to the comparison with the operation before or after it.
func (p operationPage) Twice() string {
	switch {
	case p.Supersedes != "":
		return "/compare?a=" + string(p.Supersedes) + "&b=" + string(p.ID)
	case p.SupersededBy != "":
		return "/compare?a=" + string(p.ID) + "&b=" + string(p.SupersededBy)
	}
	return ""
}
