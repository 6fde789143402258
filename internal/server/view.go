// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// viewFor is view for somebody whose rights are known: those who look after the
// operations of others also read where they went, and the whole of what failed there.
func (s *Server) viewFor(who deed.Principal, op *deed.Operation, whole bool) api.Operation {
	v := s.view(op, whole)
	if tends(who) {
		v.UpstreamIdentity, v.Message = op.UpstreamIdentity, op.Message
	}
	return v
}

// tends: the principal looks after operations of others.
func tends(who deed.Principal) bool {
	return who.May(deed.RightRead) || who.May(deed.RightApprove) || who.May(deed.RightResolve)
}

// view shows an operation to anybody who may read it; whole adds the arguments. The
// nonces of attempts are the ledger's own and are not shown, and addresses behind
// this gateway are not the caller's.
func (s *Server) view(op *deed.Operation, whole bool) api.Operation {
	v := api.Operation{
		OperationID: op.ID, Tenant: op.Tenant, Actor: op.Actor, Family: op.Key.Family, Provenance: op.Key.Provenance,
		Tool: op.Tool, Effect: op.Effect, EffectFingerprint: op.Fingerprint, Matter: validJSON([]byte(op.Matter)),
		PolicyRevision: op.PolicyRevision, PayloadDigest: op.PayloadDigest, Meta: op.Meta,
		Status: op.EffectiveStatus(s.Clock.Now()), Reason: op.Reason, Retryable: op.Retryable, Message: deed.Told(op.Message),
		DecidedBy: op.DecidedBy, NoMoreAttempts: op.NoMoreAttempts, Diverged: op.Diverged, Contradicted: op.Contradicted,
		Attempt: op.AttemptNumber(), Receipt: op.Receipt(), Receipts: op.Receipts,
		ResultDigest: op.ResultDigest, ResultIsError: op.ResultIsError, Supersedes: op.Supersedes, SupersededBy: op.SupersededBy,
		CreatedAt: op.CreatedAt.UTC(), AuthorizedAt: utc(op.AuthorizedAt), ExpiresAt: utc(op.ExpiresAt), DispatchBy: utc(op.DispatchBy),
		LeaseExpiresAt: utc(op.LeaseExpiresAt), InputExpiresAt: utc(op.InputExpiresAt), RetryAt: utc(op.RetryAt),
		SettledAt: utc(op.SettledAt), DeliveredAt: utc(op.DeliveredAt), Version: op.Version,
	}
	if v.Status == deed.StatusUncertain && op.Status != deed.StatusUncertain {
		v.Reason = deed.ReasonOutcomeUnknown
	}
	if op.Key.Family != deed.FamilySecret && op.Key.Provenance != deed.ProvenanceNone {
		v.Key = op.Key.Text
	}
	for _, a := range op.Attempts {
		v.Attempts = append(v.Attempts, viewOfAttempt(a))
	}
	if a := op.Approval; a != nil {
		v.Approval = &api.Approval{
			Digest: a.Digest, ID: a.ID, ExpiresAt: a.ExpiresAt.UTC(), Approvers: a.Approvers, Quorum: a.Quorum, MayApprove: a.MayApprove,
			Votes: a.Votes, Run: a.Run, AskedBy: a.AskedBy, AskedAt: utc(a.AskedAt), AskAgain: a.AskAgain, SpentAt: utc(a.SpentAt),
		}
	}
	if s.Fence != nil && (v.Status == deed.StatusAwaitingApproval || v.Status == deed.StatusAuthorized) {
		v.Fence = s.Fence()
	}
	if whole {
		v.Arguments = validJSON(op.Arguments)
	}
	return v
}

func viewOfAttempt(a deed.Attempt) api.Attempt {
	v := api.Attempt{
		Attempt: a.Number, Worker: a.Worker, BegunAt: a.BegunAt.UTC(), SendBy: a.SendBy.UTC(),
		Cleared: a.Cleared, Proved: a.Proved, Outcome: a.Outcome, EndedAt: utc(a.EndedAt),
	}
	for _, b := range a.Bookings {
		booking := api.Booking{Budget: b.Budget, Share: b.Scope, Currency: b.Currency, Amount: b.Amount.String(), State: b.State}
		if b.Reserved != 0 {
			booking.Reserved = b.Reserved.String()
		}
		v.Bookings = append(v.Bookings, booking)
	}
	if p := a.Probing; p != nil {
		v.Probing = &api.Probing{
			Tries: p.Tries, LastAt: utc(p.LastAt), Last: p.Last, Strategy: p.Strategy, NextAt: utc(p.NextAt), GaveUpAt: utc(p.GaveUpAt),
		}
	}
	return v
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}

// validJSON lets nothing through that would spoil the answer.
func validJSON(doc []byte) json.RawMessage {
	if len(doc) == 0 || !json.Valid(doc) {
		return nil
	}
	return doc
}

// viewOfEvent shows an event. What a look-up read and what was said about an attempt
// may name addresses behind this gateway: of such details others than those who look
// after the operations read what is not veiled.
func viewOfEvent(who deed.Principal, e deed.Event) api.Event {
	data := validJSON(e.Data)
	if !tends(who) {
		data = told(data)
	}
	return api.Event{
		ID: e.ID, OperationID: e.OperationID, Version: e.Version, At: e.At.UTC(), Name: e.Name, Actor: e.Actor, Attempt: e.Attempt,
		From: e.From, To: e.To, Reason: e.Reason, Tool: e.Tool, Fingerprint: e.Fingerprint, Data: data,
	}
}

// told passes the texts of an event's details through deed.Told.
func told(data json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return data
	}
	changed := false
	for name, raw := range members {
		var text string
		if json.Unmarshal(raw, &text) != nil || deed.Told(text) == text {
			continue
		}
		if doc, err := json.Marshal(deed.Told(text)); err == nil {
			members[name], changed = doc, true
		}
	}
	if !changed {
		return data
	}
	doc, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return doc
}
