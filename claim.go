// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"bytes"
	"context"
	"time"
)

// Claim asks for the permission to run a call. It returns either an answer
// that needs nothing to be sent, with a nil grant, or a grant: then the
// caller sends exactly grant.Arguments, once, before grant.SendBy, and tells
// the Runtime what came of it with [Runtime.Settle].
//
// A duplicate of a live attempt waits for it, up to the rule's Wait, and
// shares its outcome. The error is ctx's own when the caller left while
// waiting, or ErrClosed; everything else is an answer.
func (rt *Runtime) Claim(ctx context.Context, call Call) (Answer, *Grant, error) {
	return rt.claim(ctx, call, nil)
}

// claim begins within a transaction of the caller's, if there is one.
func (rt *Runtime) claim(ctx context.Context, call Call, within *transaction) (Answer, *Grant, error) {
	if rt.closed.Load() {
		return Answer{}, nil, ErrClosed
	}
	ctx = rt.observer.CallStarted(ctx, call)
	c := &claim{rt: rt, call: call, arrived: firstTime(call.ArrivedAt, rt.clock.Now()), joined: map[OperationID]bool{}, gone: map[Digest]bool{}, within: within}
	if tracer, ok := rt.observer.(Tracer); ok {
		if parent := tracer.Traceparent(ctx); parent != "" {
			c.traced = map[string]string{MetaTraceparent: parent}
		}
	}
	answer, grant, err := c.run(ctx)
	if err != nil {
		rt.observer.CallAnswered(ctx, call, Answer{Principal: call.Principal, Rule: c.rule, At: rt.clock.Now()})
		return Answer{}, nil, err
	}
	answer.Principal, answer.Rule, answer.At = call.Principal, c.rule, rt.clock.Now()
	if grant == nil && c.observes() {
		answer.WouldBe = answer.Decision
		grant = &Grant{Tenant: call.Principal.Tenant, Arguments: bytes.Clone(call.Arguments), Unrecorded: true, beside: c.beside}
		rt.sends(ctx, call, c.beside)
	}
	if grant != nil {
		grant.Rule, grant.call, grant.answer = c.rule, call, answer
		grant.observed = context.WithoutCancel(ctx)
		// The last step: whoever renews the lease reads the grant from then on.
		if !c.call.ManualLease && c.within == nil && !grant.Unrecorded {
			rt.leases.hold(grant)
		}
		return answer, grant, nil
	}
	rt.observer.CallAnswered(ctx, call, answer)
	return answer, nil, nil
}

func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// claim is one call on its way to an answer.
type claim struct {
	rt *Runtime
	// within is the caller's own transaction, nil where there is none.
	within *transaction
	// caller is the context of whoever waits for the answer.
	caller context.Context
	// begun runs from the instant that send_by counts from.
	begun stopwatch
	call  Call
	rule  Rule
	ruled ruled
	named named
	// free are the lower keys of the call that name nothing yet.
	free    []Key
	arrived time.Time
	joined  map[OperationID]bool
	// traced holds the trace context of the call, for operations it begins.
	traced map[string]string

	fingerprints map[Digest]Fingerprint
	// gone are the rule sets that the ledger no longer has.
	gone        map[Digest]bool
	matter      Matter
	invalid     string
	refusedText string
	// needsApproval is what the rule's condition says of this call.
	needsApproval bool
	// price is what the call costs, noPrice why that cannot be told.
	price   Amount
	noPrice error
	checked bool
	// snapshot is what else the conditions have judged: the recorded bytes, where
	// those of the call are others.
	snapshot []byte
	// revision is the version of what the call is about, noRevision why it
	// cannot be read.
	revision   string
	noRevision error
	// consumer is the operation that the call's consent was spent for, when the
	// caller may know it.
	consumer OperationID
	// followed: the call's own operation was superseded, and the call is about
	// the successor now.
	followed bool
	// planter makes the marks and the provider key, nil where there are none.
	planter *planter
	// resumed is the operation that the call names directly.
	resumed *Operation
	// beside are the records that the call runs beside in observe mode.
	beside []*beside
	// ranBeside is what has run beside the call's own operation.
	ranBeside ranBeside
	// left: the caller left while the call waited.
	left bool
	// looked: the call has looked its operation up.
	looked bool
	// spent: the call has taken its token of the rate limits; limit is their
	// refusal, nil if there was none.
	spent bool
	limit *ruling
}
