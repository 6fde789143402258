// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// settle answers POST /v1/claims/{id}/settle. The outcome is recorded whatever
// the attempt's standing: a proof of commit, however late, is never lost. The
// code then says whether it agrees with what was recorded.
func (s *Server) settle(x *exchange) reply {
	var body api.SettleRequest
	if no, refused := x.decode(&body); refused {
		return no
	}
	outcome, wrong := outcomeOf(body)
	if wrong != "" {
		return malformed(wrong + "; nothing was done")
	}
	grant, err := s.Runtime.Regrant(context.WithValue(x.Context(), settling{}, true), x.who, x.id(), body.Attempt, body.ClaimToken)
	if err != nil {
		return s.failure(err)
	}
	before := grant.Answer().Operation
	a, err := s.Runtime.Settle(x.Context(), grant, outcome)
	if err != nil {
		return s.failure(err)
	}
	op := a.Operation
	if a.Decision != deed.Execute || op == nil {
		return s.unavailable("the outcome could not be recorded yet; send it again")
	}
	s.out.settled(attemptOut{op.Tenant, op.ID, body.Attempt})
	// A batch is compared as what it amounts to. What one that is unknown names is in
	// no receipt.
	whole := outcome.Whole()
	differs := differs(op, body.Attempt, whole)
	telling := whole.Kind == deed.OutcomeUnknown && outcome.Kind == deed.OutcomeSuccess
	if (differs || telling) && op.Version == before.Version {
		if err := s.Runtime.Note(x.Context(), grant, outcome); err != nil {
			return s.failure(err)
		}
	}
	repeated := before.Attempts[body.Attempt-1].Outcome == whole.Kind
	switch {
	case differs:
		return s.differing(op, api.TypeOutcomeDiffers, "The attempt was settled otherwise", "what was sent is kept as evidence; the operation stands as shown")
	case body.Attempt != op.AttemptNumber() && !repeated:
		return s.differing(op, api.TypeStaleAttempt, "The attempt is not the current one", "what was sent is kept as evidence; the operation stands as shown")
	}
	r := answer(http.StatusOK, s.view(op, false))
	r.delivered = func() { s.Runtime.Delivered(x.Context(), a) }
	return r
}

// settling marks what a claimant's settlement records.
type settling struct{}

// BySettlement reports whether what an Observer is told with ctx was recorded by the
// settlement of a claim: a worker said it, and no call of this gateway came to it.
func BySettlement(ctx context.Context) bool { return ctx.Value(settling{}) != nil }

func (s *Server) differing(op *deed.Operation, kind, title, detail string) reply {
	no := problem(http.StatusConflict, kind, title, detail)
	s.about(no.body.(*api.Problem), op)
	return no
}

// notSentRetry is when an attempt that never left may be repeated, where its
// caller does not say.
const notSentRetry = time.Second

// outcomeOf reads the body, or says what is wrong with it.
func outcomeOf(body api.SettleRequest) (deed.Outcome, string) {
	if math.IsNaN(body.RetryAfter) || body.RetryAfter < 0 || body.RetryAfter > 86400 {
		return deed.Outcome{}, "retry_after is 0 to 86400 seconds"
	}
	if body.Attempt < 1 {
		return deed.Outcome{}, "attempt is the number that the claim was answered with"
	}
	out := deed.Outcome{
		Message: body.Message, Final: body.Final, Result: body.Result,
		RetryAfter: time.Duration(body.RetryAfter * float64(time.Second)),
	}
	if body.Receipt != nil && body.Outcome != api.SettleCommitted {
		return deed.Outcome{}, "only what was committed has a receipt"
	}
	switch body.Outcome {
	case api.SettleCommitted:
		out.Kind = deed.OutcomeSuccess
		if r := body.Receipt; r != nil {
			out.Receipt = deed.Receipt{RemoteSystem: r.RemoteSystem, RemoteID: r.RemoteID, RemoteURL: r.RemoteURL, Items: r.Items}
		}
	case api.SettleRefused:
		out.Kind, out.Reason, out.ResultIsError = deed.OutcomeRefused, deed.ReasonRefused, true
	case api.SettleNotSent:
		out.Kind, out.Reason = deed.OutcomeUnsent, deed.ReasonNotSent
		if out.RetryAfter == 0 {
			out.RetryAfter = notSentRetry
		}
	case api.SettleUnknown:
		out.Kind, out.Reason = deed.OutcomeUnknown, deed.ReasonOutcomeUnknown
	default:
		return deed.Outcome{}, "outcome is committed, not_sent, refused or unknown"
	}
	return out, ""
}

// differs reports whether what is recorded of the attempt, after the outcome
// was, speaks against the outcome.
func differs(op *deed.Operation, number int, out deed.Outcome) bool {
	a := op.Attempts[number-1]
	switch out.Kind {
	case deed.OutcomeSuccess:
		if a.Outcome == deed.OutcomeRefused || a.Outcome == deed.OutcomeUnsent {
			return true
		}
		return out.Receipt.RemoteID != "" && !names(op, out.Receipt.RemoteID)
	case deed.OutcomeUnknown:
		return a.Outcome != deed.OutcomeUnknown && a.Outcome != ""
	}
	return a.Proved || a.Outcome != out.Kind && a.Outcome != deed.OutcomeUnknown
}

func names(op *deed.Operation, remote string) bool {
	for _, receipt := range op.Receipts {
		if receipt.RemoteID == remote {
			return true
		}
	}
	return false
}

// renew answers POST /v1/claims/{id}/renew.
func (s *Server) renew(x *exchange) reply {
	var body api.RenewRequest
	if no, refused := x.decode(&body); refused {
		return no
	}
	grant, err := s.Runtime.Regrant(x.Context(), x.who, x.id(), body.Attempt, body.ClaimToken)
	if err != nil {
		return s.failure(err)
	}
	if op := grant.Answer().Operation; op.AttemptNumber() != body.Attempt {
		return s.differing(op, api.TypeStaleAttempt, "The attempt is not the current one", "nothing was renewed; settle what came of it all the same")
	}
	err = s.Runtime.Renew(x.Context(), grant)
	op, again := s.Runtime.Get(x.Context(), x.who, x.id())
	switch {
	case again != nil:
		return s.failure(again)
	case errors.Is(err, deed.ErrVersion):
		return s.differing(op, api.TypeLeaseLost, "The lease is lost", "a lost lease is never taken back; send nothing more, and settle what came of it")
	case err != nil:
		return s.failure(err)
	}
	s.out.gave(attemptOut{op.Tenant, op.ID, body.Attempt}, op.LeaseExpiresAt, s.Clock.Now())
	return answer(http.StatusOK, api.Lease{
		OperationID: op.ID, Attempt: body.Attempt, SendBy: grant.SendBy.UTC(), LeaseExpiresAt: op.LeaseExpiresAt.UTC(),
	})
}
