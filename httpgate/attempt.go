// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// permit says until when a request may leave.
type permit struct {
	may  func() error
	left func() time.Duration // nil: no limit
}

// sender hands a request over, once.
type sender interface {
	// send returns the answer's head. With an error, unsent reports that nothing of
	// the request left, for certain.
	send(ctx context.Context, s snapshot, x *reading, g *deed.Grant, p permit) (resp *http.Response, unsent bool, err error)
}

// attempt is one dispatch under a grant. It is its own: the caller that asked for
// it may leave.
type attempt struct {
	side  *side
	route *Route
	x     *reading
	grant *deed.Grant

	replies chan reply
	moved   chan struct{}
	ended   chan ended // buffered: nobody may be listening
	long    chan *long // buffered, for the same reason
	left    chan struct{}
}

// ended is how an attempt was settled, and the answer where there was a whole one.
type ended struct {
	answer deed.Answer
	reply  reply
}

// dispatch sends the snapshot once and settles what comes of it.
func (s *side) dispatch(route *Route, x *reading, grant *deed.Grant) *attempt {
	a := &attempt{
		side: s, route: route, x: x, grant: grant,
		replies: make(chan reply, 1), moved: make(chan struct{}, 1), ended: make(chan ended, 1), long: make(chan *long, 1), left: make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(x.Context()))
	stop := context.AfterFunc(s.ctx, cancel)
	// over: nothing of the exchange is read any more.
	over := make(chan struct{})
	s.work.Go(func() {
		defer cancel()
		defer stop()
		if a.wait(ctx) {
			<-over
		}
	})
	s.work.Go(func() {
		defer close(over)
		a.exchange(ctx)
	})
	return a
}

// exchange makes the request, reads the answer, and hands it over as soon as it says
// all that it can say.
func (a *attempt) exchange(ctx context.Context) {
	frozen, err := a.route.snapshot(a.grant.Arguments)
	if err != nil {
		a.replies <- reply{unsent: true, err: err}
		return
	}
	p := permit{may: a.grant.MaySend}
	if !a.grant.Unrecorded {
		p.left = a.grant.TimeToSend
	}
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	resp, unsent, err := a.side.sender.send(ctx, frozen, a.x, a.grant, p)
	if err != nil {
		a.replies <- reply{unsent: unsent, err: err}
		return
	}
	defer func() { _ = resp.Body.Close() }()
	switch within := a.side.errorWithin; {
	case resp.StatusCode < http.StatusOK:
		a.replies <- reply{err: fmt.Errorf("HTTP %d, which nobody asked for", resp.StatusCode)}
		return
	case resp.StatusCode >= http.StatusMultipleChoices && within > 0 && !looksOn(a.grant):
		// A page that drips, or never ends, holds nobody up.
		late := time.AfterFunc(within, cut)
		defer late.Stop()
	}
	a.replies <- a.receive(resp)
	drain(resp.Body)
}

// wait settles on the reply. Without one in time the outcome is unknown, but the
// answer is read on, because a late proof counts. It reports whether there was a
// reply.
func (a *attempt) wait(ctx context.Context) bool {
	rule, clock := a.grant.Rule, a.side.clock
	hard, idle := clock.After(rule.TimeoutHard), clock.After(rule.Timeout)
	for waiting := true; waiting; {
		select {
		case r := <-a.replies:
			a.settle(ctx, r, a.classify(r))
			return true
		case <-a.moved:
			idle = clock.After(rule.Timeout)
		case <-idle:
			a.settle(ctx, reply{}, outcome.Lost(false, fmt.Sprintf("no answer and no progress within %s", rule.Timeout)))
			waiting = false
		case <-hard:
			a.settle(ctx, reply{}, outcome.Lost(false, fmt.Sprintf("no whole answer within %s", rule.TimeoutHard)))
			waiting = false
		}
	}
	select {
	case r := <-a.replies:
		a.settle(ctx, r, a.classify(r))
		return true
	case <-clock.After(rule.Late):
		return false
	}
}

func (a *attempt) settle(ctx context.Context, r reply, out deed.Outcome) {
	if a.grant.Unrecorded && r.err != nil {
		a.side.log(fmt.Sprintf("%s: %s", a.route.tool(), out.Message))
	}
	answer, err := a.side.runtime.Settle(ctx, a.grant, out)
	if err != nil {
		answer = a.grant.Answer()
		a.side.log(fmt.Sprintf("%s: %s: %v", a.route.tool(), notRecorded, err))
		answer.Decision, answer.Reason, answer.Effective, answer.Text = deed.Uncertain, deed.ReasonOutcomeUnknown, deed.StatusUncertain, notRecorded
	}
	select {
	case a.ended <- ended{answer, r}:
	default:
	}
}

// progress restarts the clock of a silent upstream.
func (a *attempt) progress() {
	select {
	case a.moved <- struct{}{}:
	default:
	}
}

// drain reads what is left of an answer that is of no use, so that its connection
// can be used again.
func drain(body io.Reader) { _, _ = io.Copy(io.Discard, io.LimitReader(body, 64<<10)) }
