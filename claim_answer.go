// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"errors"
)

// granted is the answer of a begin that is durable.
func (c *claim) granted(r ruling, view View) (Answer, *Grant, error) {
	op := r.op
	current := op.Current()
	grant := &Grant{
		Operation: op.ID, Tenant: op.Tenant, Attempt: current.Number, SendBy: current.SendBy,
		LeaseExpiresAt: op.LeaseExpiresAt, Arguments: op.Arguments, ProviderKey: current.ProviderKey,
		Marks: current.planted(), Regranted: r.act == actRegrant, Rule: c.rule, nonce: current.Nonce, started: view.Now, begun: c.begun,
	}
	if c.rt.reconciler != nil {
		c.rt.served.LoadOrStore(op.Tenant, true)
	}
	if current.ProviderKey != "" {
		c.rt.sights.watched(op, current.Number, c.rt.clock.Now())
	}
	answer := Answer{
		Decision: Execute, Operation: op, Effective: op.Status, SimilarTo: r.similarTo,
		Warning: r.warning, Received: c.fingerprints[c.ruled.rules],
	}
	if r.wouldBe != "" {
		answer.WouldBe, answer.Reason, answer.Text, answer.Budget = r.wouldBe, r.reason, r.text, r.budget
	}
	return answer, grant, nil
}

// answer completes a ruling that sends nothing: it appends the decision event
// and fetches what the caller may see.
func (c *claim) answer(ctx context.Context, r ruling, view View) (Answer, error) {
	op := r.op
	answer := Answer{
		Decision: r.decision, Reason: r.reason, RetryAfter: r.retryAfter, SimilarTo: r.similarTo,
		Warning: r.warning, Text: r.text, Received: c.fingerprints[c.ruled.rules], Budget: r.budget,
	}
	var subject OperationID
	if op != nil && !r.hidden {
		if r.twin && (r.decision == Replay || r.decision == Failed) {
			full, err := c.rt.store.Load(ctx, Scope{Tenant: op.Tenant, ID: op.ID})
			if err != nil {
				return Answer{}, err
			}
			if full.Operation != nil {
				op = full.Operation
			}
		}
		if len(op.Result) > 0 && digestOf(op.Result) != op.ResultDigest {
			c.rt.observer.Violated(ctx, string(op.ID)+": its saved result is not the one that was recorded, and is shown to nobody")
			op = op.clone()
			op.Result = nil
			if r.decision == Replay {
				answer.Reason = ReasonResultDiscarded
			}
		}
		answer.Operation, answer.Effective = op, op.EffectiveStatus(view.Now)
		answer.Text = firstText(r.text, op.Message)
		if r.twin {
			answer.Twin = op.ID
		}
		if r.decision == Replay || r.reason == ReasonAwaitingInput || r.decision == Failed || r.reason == ReasonToolError {
			answer.Result = op.Result
		}
	}
	if op != nil {
		subject = op.ID
	}
	return answer, c.decided(ctx, answer, subject)
}

func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// denial answers before any record was looked at.
func (c *claim) denial(ctx context.Context, reason Reason, text string) Answer {
	answer := Answer{Decision: Denied, Reason: reason, Text: text, Rule: c.rule}
	if err := c.decided(ctx, answer, ""); err != nil {
		return c.storeFailed(err)
	}
	return answer
}

// decided appends the event of a decision that sent nothing, or, in observe mode,
// would have sent nothing.
func (c *claim) decided(ctx context.Context, answer Answer, subject OperationID) error {
	rt, call := c.rt, c.call
	durability := Batched
	if rt.strict {
		durability = Durable
	}
	now := rt.clock.Now()
	event := Event{
		ID: newEventID(now, rt.random), Tenant: call.Principal.Tenant, OperationID: subject,
		At: now, Name: EventName(answer.Decision), Actor: call.Principal.Actor,
		Reason: answer.Reason, Tool: call.Tool, Fingerprint: answer.Received,
	}
	if answer.Operation != nil {
		event.Version = answer.Operation.Version
	}
	if c.observes() {
		event.Data = wouldBeData(answer.Decision)
	}
	if err := rt.store.Append(context.WithoutCancel(ctx), []Event{event}, durability); err != nil {
		return err
	}
	rt.observer.Recorded(ctx, event)
	return nil
}

// storeFailed answers when the ledger cannot be reached: nothing was sent. Where the
// ledger is, and as whom it is asked, is not for callers.
func (c *claim) storeFailed(err error) Answer {
	told := "the ledger cannot be reached"
	if errors.Is(err, ErrLedgerVersion) {
		told = "this process is older than the ledger"
	}
	return Answer{Decision: Denied, Reason: ReasonStoreUnavailable, Text: (&Veiled{Told: told, Err: err}).Error(), Rule: c.rule}
}

// Delivered tells the ledger that an answer with a receipt has been handed to
// its caller: from then on an equal call under a fresh model key is taken for
// a new action. Call it after the answer was written out; a crash before it
// errs on the side of replaying.
func (rt *Runtime) Delivered(ctx context.Context, answer Answer) {
	op := answer.Operation
	if op == nil || op.Status != StatusCommitted || op.Delivered() {
		return
	}
	switch {
	case answer.Decision == Execute, answer.Decision == Replay, answer.Reason == ReasonTwinUndelivered:
	default:
		return
	}
	now := rt.clock.Now()
	event := Event{
		ID: newEventID(now, rt.random), Tenant: op.Tenant, OperationID: op.ID, Version: op.Version,
		At: now, Name: Delivered, Actor: answer.Principal.Actor, Tool: op.Tool,
	}
	if err := rt.store.Append(context.WithoutCancel(ctx), []Event{event}, Batched); err == nil {
		rt.observer.Recorded(ctx, event)
	}
}
