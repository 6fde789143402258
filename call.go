// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"time"
)

// Call is one request to run a tool.
type Call struct {
	// Principal, with Tenant and Actor, and Tool are in every call; one without
	// is denied(bad_arguments).
	Principal Principal
	Tool      Tool
	// Arguments is the raw JSON object that the tool will receive. It is kept
	// and sent byte for byte; what is sent is a copy, so that these bytes are the
	// caller's again once Claim, Do or DoTx has returned.
	Arguments []byte
	// Key is the operation's name when the caller's own runtime gives it; a
	// shorthand for one carrier of provenance runtime.
	Key Identity
	// Carriers are the identities found on the request, in any order.
	Carriers []Carrier
	// VisibleASCIIKeys admits keys of 1 to 255 visible ASCII characters, as
	// the HTTP profiles do.
	VisibleASCIIKeys bool
	// KeyArgument names a top-level argument of the tool's own schema that
	// carries the key: left out of the fingerprint, forwarded untouched.
	KeyArgument string
	// Meta are facts about the call: parts of derived keys ("run") and terms
	// to search by ("conversation").
	Meta map[string]string
	// ExpiresAt is the caller's deadline for dispatch and a floor for
	// retention; zero if none. Nothing is sent after it: a first call that comes
	// later is expired(never_ran), and no attempt has a later SendBy.
	ExpiresAt time.Time
	// EffectFingerprint, when the caller computed one, is checked.
	EffectFingerprint Fingerprint
	Facts             ToolFacts
	// Validate checks the arguments against the tool's own schema before a
	// key is bound; nil accepts everything. It says what is wrong, or "".
	Validate func(arguments []byte) string
	// Continuation is set when the call answers a question of the tool.
	Continuation *Continuation
	// ArrivedAt is when the call reached the caller of Claim, if that was some
	// time before; it decides which attempts it came beside. Zero means now.
	ArrivedAt time.Time
	// ManualLease leaves renewing to the caller; otherwise the Runtime renews
	// until the grant is settled or released.
	ManualLease bool
	// ClaimToken names this claim among those of its actor, with ManualLease:
	// while the attempt that it began is live, a repeat under the same token is
	// given the same grant, so that a lost answer locks nobody out. Empty: none.
	ClaimToken string
	// Consent is a verified consent that was given elsewhere, nil if none came
	// with the call. It counts for the proposal whose digest it names.
	Consent *ExternalConsent
	// Defaults fills the defaults of the tool's schema in, for what rules read
	// from the arguments; nil changes nothing. It is pure.
	Defaults func(arguments []byte) []byte
	// Revision reads the version of what the call is about, such as that of a
	// draft; nil reads none. It is asked before anything is proposed or begun,
	// outside of every transaction: what was approved for another version is
	// denied(revision_changed), and so is a call whose version cannot be read.
	Revision func(ctx context.Context) (string, error)
	// Resume names a recorded operation directly: its identity and its frozen
	// bytes are used, whatever else the call carries. It needs the right to
	// resolve, see [Runtime.CallOf], but where its own actor answers a question
	// of the tool.
	Resume OperationID
	// Derive derives the key from these parts, as [KeyRule.From] does, where
	// neither the caller nor the tool's rule gives one.
	Derive []string
	// authorized: the gateway runs it because it was approved, see
	// [Runtime.CallOfAuthorized].
	authorized bool
}

// unnamed says which of the names that every call has is missing, or "".
func (c Call) unnamed() string {
	missing := func(field string) string {
		return "deed.Call." + field + " is not set: nothing was sent; without it nobody could tell whose operation this is, or of what"
	}
	switch {
	case c.Principal.Tenant == "":
		return missing("Principal.Tenant")
	case c.Principal.Actor == "":
		return missing("Principal.Actor")
	case c.Tool == "":
		return missing("Tool")
	}
	return ""
}

// Continuation is the answer to an input_required result (MCP 2026-07-28,
// multi round-trip requests).
type Continuation struct {
	// State is the requestState that the question carried, nil if none.
	State []byte
	// Inputs are the raw answers.
	Inputs []byte
}

// Answer is what a call is told. A program asks [Answer.Done] first, and takes
// the receipt from [Answer.Receipt].
type Answer struct {
	Decision Decision
	Reason   Reason
	// Operation is the record that the answer is about; nil when there is
	// none or when the caller may not see it.
	Operation *Operation
	// Effective is the operation's effective status when it was answered. It
	// speaks of Operation, not of the call: in conflict, or denied, that record
	// may well be committed while nothing was done for this call.
	Effective Status
	// Result is the upstream's stored or fresh answer, byte for byte.
	Result []byte
	// Text is what a person, the upstream or a check said, for people.
	Text       string
	RetryAfter time.Duration
	// SimilarTo names an earlier operation with an equal effect.
	SimilarTo OperationID
	// Twin is set when the operation answered is an equal one under another
	// key.
	Twin OperationID
	// Received is the fingerprint of this call; compare with the operation's.
	Received Fingerprint
	// Budget says why the call did not fit, with denied(budget_exceeded).
	Budget *BudgetRefusal
	// Unrecorded: the call ran, and what became of it could not be written down yet.
	// The Runtime goes on trying for as long as the process lives.
	Unrecorded bool
	// Current is what became of a created resource since, in a replay of the
	// family creation: "found", "gone" or "unknown"; gateways fill it in.
	Current string
	// Warning says that content refused before is running now.
	Warning string
	// WouldBe is what enforce would have decided, in observe mode; Reason is
	// then the reason of that, unless the attempt that was made all the same is
	// recorded and has ended with a reason of its own.
	WouldBe Decision
	// Principal is who was answered.
	Principal Principal
	Rule      Rule
	At        time.Time
}

// Replayed reports whether the answer is recovered evidence.
func (a Answer) Replayed() bool { return a.Decision == Replay }

// Done reports whether what the call asks for has been done, now or before, and
// is recorded as such. Then Receipt is not nil; where it has Items, some of
// them may have been refused.
//
// False is not "it did not happen": Decision says what is known. In failed and
// expired (and execute with the effective status failed) it is known not to be
// done. In conflict and denied this call sent nothing, and Operation, where it
// is there, may be another action or an earlier one. In uncertain nobody knows
// yet, and in in_progress and awaiting_approval it may still be done. Of what
// has no record, such as a read-only tool, Done is false and Result is all
// there is.
func (a Answer) Done() bool {
	return (a.Decision == Execute || a.Decision == Replay) && a.Effective == StatusCommitted &&
		a.Operation != nil && a.Operation.Receipt() != nil
}

// ofNoRecord is the answer of a run that no record stands behind, without the
// record that would have answered in its place.
func (a Answer) ofNoRecord() Answer {
	a.Operation, a.Effective, a.Twin, a.RetryAfter, a.Current = nil, "", "", 0, ""
	return a
}

// Receipt returns the first receipt of what the call asks for, and nil unless
// it is Done: the receipts of an operation that a conflict or a denial is about
// are in Operation.
func (a Answer) Receipt() *Receipt {
	if !a.Done() {
		return nil
	}
	return a.Operation.Receipt()
}

// OutcomeKind says how an attempt ended, as far as the dispatcher saw.
type OutcomeKind string

const (
	// OutcomeSuccess: a whole, parsed answer says that it was accepted.
	OutcomeSuccess OutcomeKind = "success"
	// OutcomeRefused: a definite answer says that it was not.
	OutcomeRefused OutcomeKind = "refused"
	// OutcomeUnsent: proved that no byte of it left.
	OutcomeUnsent OutcomeKind = "unsent"
	// OutcomeUnknown: anything else.
	OutcomeUnknown OutcomeKind = "unknown"
	// OutcomeInputRequired: a whole answer that asks a question.
	OutcomeInputRequired OutcomeKind = "input_required"
	// OutcomeTask: a whole answer that promises a later one.
	OutcomeTask OutcomeKind = "task"
)

// Outcome is what the dispatcher learnt about an attempt.
type Outcome struct {
	Kind OutcomeKind
	// Final: the refusal will be the same next time (validation, permission).
	Final bool
	// RetryAfter is when a refused or unsent attempt may be repeated.
	RetryAfter time.Duration
	// Reason refines it: not_sent, refused, outcome_unknown, tool_error.
	Reason Reason
	// Message is the upstream's own text, for people.
	Message string
	// Receipt carries remote system, id, url and items of a success.
	Receipt Receipt
	// Result is the upstream's answer, byte for byte.
	Result []byte
	// Stated is where [SpendRule.Actual] reads what it did cost, such as the body
	// of an HTTP message; nil where that is Result itself.
	Stated []byte
	// ResultIsError marks a Result that is an error result.
	ResultIsError bool
	// RequestState is the state of a question.
	RequestState []byte
	// TaskID is the handle of a task.
	TaskID string
}

// Grant is the permission for one attempt. Exactly one of the holders of a
// key is given one.
type Grant struct {
	Operation OperationID
	Tenant    Tenant
	Attempt   int
	SendBy    time.Time
	// LeaseExpiresAt is the lease as granted; renewals move it in the ledger.
	LeaseExpiresAt time.Time
	// Arguments is the frozen snapshot: send these bytes, whatever the caller
	// sent this time.
	Arguments   []byte
	ProviderKey string
	// Marks are what is planted in Arguments, so that the effect can be found.
	Marks Marks
	// Unrecorded: no record stands behind the grant (a read-only tool, or
	// observe mode); Settle only observes it.
	Unrecorded bool
	// Rule is complete: every duration is set.
	Rule Rule
	// Regranted: this attempt was granted before, to a call under the same claim
	// token; whoever was given it first may have sent.
	Regranted bool

	// beside are the records that know of a call which is not recorded itself.
	beside []*beside
	// observed carries what the Observer put into the context of the call.
	observed context.Context
	call     Call
	answer   Answer
	nonce    string
	begun    stopwatch
	started  time.Time
}
