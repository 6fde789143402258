// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

func (c *claim) run(ctx context.Context) (Answer, *Grant, error) {
	rt := c.rt
	c.caller = ctx
	if text := c.call.unnamed(); text != "" {
		answer := Answer{Decision: Denied, Reason: ReasonBadArguments, Text: text}
		if c.call.Principal.Tenant == "" {
			// There is no tenant whose history could tell of it.
			return answer, nil, nil
		}
		return c.denial(ctx, answer.Reason, text), nil, nil
	}
	c.rule = rt.policy.Rule(c.call.Tool, c.call.Facts).complete()
	if c.rule.Account != "" {
		c.call.Facts.UpstreamIdentity = c.rule.Account
	}
	if !c.rule.Mutates() && c.call.Resume == "" {
		return c.read(ctx)
	}
	var err error
	if c.ruled, err = rt.ruledBy(c.rule); err != nil {
		return c.denial(ctx, ReasonBadArguments, err.Error()), nil, nil
	}
	c.rule.Hash = c.ruled.hash
	if c.planter, err = rt.planterFor(context.WithoutCancel(ctx), c.call.Principal.Tenant, c.rule); err != nil {
		return c.storeFailed(err), nil, nil
	}
	prepare := c.prepare
	if c.call.Resume != "" {
		prepare = c.resume
	}
	if answer, refused := prepare(ctx); refused {
		return answer, nil, nil
	}
	for {
		r, view, err := c.attempt(ctx)
		switch {
		case errors.Is(err, errPlanting):
			return c.denial(ctx, ReasonBadArguments, err.Error()), nil, nil
		case errors.Is(err, errCallerLeft):
			return Answer{}, nil, fmt.Errorf("%w: %w", err, ctx.Err())
		case err != nil:
			again, seen, known := c.meanwhile(ctx)
			if !known {
				return c.storeFailed(err), nil, nil
			}
			r, view = again, seen
		}
		switch {
		case r.act == actFollow:
			if answer, final := c.follow(ctx, r.op); final {
				return answer, nil, nil
			}
		case c.lookFirst(ctx, r, view.Now), r.act == actAgain:
		case r.act == actWait && (r.alias || c.patient()) && !c.observes(): // an alias is answered once it is written
			if err := rt.waitFor(ctx, r.op, c.patience(), view.Now); err != nil {
				if r.alias {
					c.leave(ctx, r.op)
				}
				return Answer{}, nil, err
			}
			c.joined[r.op.ID] = true
		case r.act == actBegin, r.act == actRegrant:
			return c.granted(r, view)
		default:
			if c.observes() {
				c.beside = c.besideOf(r, view)
			}
			answer, err := c.answer(ctx, r, view)
			if err != nil {
				return c.storeFailed(err), nil, nil
			}
			return answer, nil, nil
		}
	}
}

// leave makes a key that waited for a twin a name of it: its caller left unanswered,
// and calls again when the twin's answer may have gone to somebody else. Where that
// cannot be written the call is what it was.
func (c *claim) leave(ctx context.Context, twin *Operation) {
	if c.within != nil {
		return
	}
	c.left, c.joined[twin.ID] = true, true
	_, _, _ = c.attempt(ctx)
}

// errCallerLeft stops a begin whose caller left before it: nothing is stored.
var errCallerLeft = errors.New("the caller left before anything began")

// prepare names the call, computes its fingerprint and records the rules.
func (c *claim) prepare(ctx context.Context) (Answer, bool) {
	rt := c.rt
	ctx = context.WithoutCancel(ctx)
	fingerprint, err := c.fingerprint(c.ruled)
	if err != nil {
		return c.denial(ctx, ReasonBadArguments, err.Error()), true
	}
	c.fingerprints = map[Digest]Fingerprint{c.ruled.rules: fingerprint}
	pick := c.ruled.program.Fact
	c.matter = matterOf(c.rule.Matter, c.call.Arguments, pick)
	var no *refusal
	c.named, no, err = rt.name(ctx, c.call, c.rule, pick)
	switch {
	case err != nil:
		return c.storeFailed(err), true
	case no != nil:
		if c.observes() {
			c.besideTwins(ctx)
		}
		return c.denial(ctx, no.reason, no.text), true
	}
	return Answer{}, false
}

// patience is how long the call may still wait for a live attempt.
func (c *claim) patience() time.Duration {
	return c.rule.Wait - c.rt.clock.Now().Sub(c.arrived)
}

func (c *claim) patient() bool { return c.patience() > 0 }

// read lets a read-only tool through, within its rate.
func (c *claim) read(ctx context.Context) (Answer, *Grant, error) {
	if !c.call.Principal.May(RightCall) {
		return c.denial(ctx, ReasonForbidden, ""), nil, nil
	}
	if r := c.takeLimits(c.arrived, ""); r != nil {
		answer := c.denial(ctx, r.reason, "")
		answer.RetryAfter = r.retryAfter
		return answer, nil, nil
	}
	if c.rule.Deny != nil {
		if text := c.rule.Deny(c.call.Arguments, c.call.Principal); text != "" {
			return c.denial(ctx, ReasonForbidden, text), nil, nil
		}
	}
	grant := &Grant{Tenant: c.call.Principal.Tenant, Arguments: bytes.Clone(c.call.Arguments), Unrecorded: true}
	return Answer{Decision: Execute, Rule: c.rule}, grant, nil
}

// takeLimits spends the call's tokens once, however often a transaction is
// repeated, and answers what they say.
func (c *claim) takeLimits(now time.Time, fingerprint Fingerprint) *ruling {
	if c.spent {
		return c.limit
	}
	c.spent = true
	all := limitName{tenant: c.call.Principal.Tenant, actor: c.call.Principal.Actor, tool: c.rule.Tool}
	repeat := all
	repeat.fingerprint = fingerprint
	if fingerprint != "" {
		if wait, ok := c.rt.limits.take(repeat, c.rule.Repeat, now); !ok {
			c.limit = &ruling{decision: Denied, reason: ReasonLoop, retryAfter: wait}
			return c.limit
		}
	}
	if wait, ok := c.rt.limits.take(all, c.rule.Rate, now); !ok {
		c.limit = &ruling{decision: Denied, reason: ReasonRate, retryAfter: wait}
		if fingerprint != "" {
			c.rt.limits.giveBack(repeat)
		}
	}
	return c.limit
}
