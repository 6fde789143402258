// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// operationOf is the record that the API showed. What it does not show is
// empty.
func operationOf(v api.Operation) *deed.Operation {
	op := &deed.Operation{
		ID: v.OperationID, Tenant: v.Tenant, Actor: v.Actor,
		Key:  deed.Key{Family: v.Family, Text: v.Key, Provenance: v.Provenance},
		Tool: v.Tool, Effect: v.Effect, Fingerprint: v.EffectFingerprint, Matter: deed.Matter(v.Matter),
		UpstreamIdentity: v.UpstreamIdentity, PolicyRevision: v.PolicyRevision, PayloadDigest: v.PayloadDigest, Meta: v.Meta,
		Arguments: v.Arguments, Status: v.Status, Reason: v.Reason, Retryable: v.Retryable, Message: v.Message, DecidedBy: v.DecidedBy,
		NoMoreAttempts: v.NoMoreAttempts, Diverged: v.Diverged, Contradicted: v.Contradicted, Receipts: v.Receipts,
		ResultDigest: v.ResultDigest, ResultIsError: v.ResultIsError, Supersedes: v.Supersedes, SupersededBy: v.SupersededBy,
		CreatedAt: v.CreatedAt, AuthorizedAt: v.AuthorizedAt, ExpiresAt: v.ExpiresAt, DispatchBy: v.DispatchBy,
		LeaseExpiresAt: v.LeaseExpiresAt, InputExpiresAt: v.InputExpiresAt, RetryAt: v.RetryAt, SettledAt: v.SettledAt,
		DeliveredAt: v.DeliveredAt, Version: v.Version,
	}
	for _, a := range v.Attempts {
		op.Attempts = append(op.Attempts, attemptOf(a))
	}
	if v.Approval != nil {
		op.Approval = &deed.Approval{
			Digest: v.Approval.Digest, ID: v.Approval.ID, ExpiresAt: v.Approval.ExpiresAt, Approvers: v.Approval.Approvers, Quorum: v.Approval.Quorum,
			MayApprove: v.Approval.MayApprove, Votes: v.Approval.Votes, Run: v.Approval.Run, AskedBy: v.Approval.AskedBy, AskedAt: v.Approval.AskedAt,
			AskAgain: v.Approval.AskAgain, SpentAt: v.Approval.SpentAt,
		}
	}
	return op
}

func attemptOf(v api.Attempt) deed.Attempt {
	a := deed.Attempt{
		Number: v.Attempt, Worker: v.Worker, BegunAt: v.BegunAt, SendBy: v.SendBy, Cleared: v.Cleared, Proved: v.Proved,
		Outcome: v.Outcome, EndedAt: v.EndedAt,
	}
	for _, b := range v.Bookings {
		booking := deed.Booking{Budget: b.Budget, Scope: b.Share, Currency: b.Currency, State: b.State}
		// What the daemon wrote as a decimal is one; anything else stays 0.
		booking.Amount, _ = deed.ParseAmount(b.Amount)
		booking.Reserved, _ = deed.ParseAmount(b.Reserved)
		a.Bookings = append(a.Bookings, booking)
	}
	if p := v.Probing; p != nil {
		a.Probing = &deed.Probing{Tries: p.Tries, LastAt: p.LastAt, Last: p.Last, Strategy: p.Strategy, NextAt: p.NextAt, GaveUpAt: p.GaveUpAt}
	}
	return a
}
