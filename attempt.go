// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "time"

// Attempt is one dispatch of an operation.
type Attempt struct {
	// Number is the fencing token: settling and renewing need the current one.
	Number int `json:"attempt"`
	// Nonce tells this begin from any other, so that a commit whose
	// acknowledgement was lost can be recognised.
	Nonce string `json:"nonce"`
	// Arguments are the frozen bytes that the attempt sends, which a person may
	// have edited since the call. Only functions passed to [Runtime.Do] and
	// [DoTx] are given them here; elsewhere they are the operation's.
	Arguments []byte `json:"-"`
	// MaySend reports whether the first byte of the attempt may leave now, as
	// [Grant.MaySend] does, by the Runtime's clock. A function that prepares for
	// a while asks right before it sends, and returns its error in [NotSent]: by
	// then another process may have begun the next attempt. Set for functions
	// passed to [Runtime.Do] and [DoTx], nil elsewhere.
	MaySend func() error `json:"-"`
	Worker  string       `json:"worker"`
	// UpstreamIdentity is where this attempt was sent.
	UpstreamIdentity string `json:"upstream_identity"`
	// LookedUpAt is the upstream identity of where its effect is looked up, when
	// that is another.
	LookedUpAt string    `json:"looked_up_at,omitempty"`
	BegunAt    time.Time `json:"begun_at"`
	// SendBy is the moment after which nothing of the attempt may leave.
	SendBy time.Time `json:"send_by"`
	// ProviderKey is the key minted for the provider, if it honours one.
	ProviderKey string `json:"provider_key,omitempty"`
	// KeyPlace is where it was presented, see [ProviderKeyRule].
	KeyPlace string `json:"provider_key_place,omitempty"`
	// NewProviderKey: a person wants the next attempt to have another key.
	NewProviderKey bool `json:"new_provider_key,omitempty"`
	// Marks are what was planted in the bytes that were sent, nil if nothing.
	Marks *Marks `json:"marks,omitempty"`
	// Probing is how far look-ups have come, nil before the first.
	Probing *Probing `json:"probing,omitempty"`
	// Claimant and Claim are digests of the actor, and of the actor with its
	// claim token, where the caller leads the lease itself.
	Claimant Digest `json:"claimant,omitempty"`
	Claim    Digest `json:"claim,omitempty"`
	// Continues is the attempt whose question this one answers, 0 if none.
	Continues int `json:"continues,omitempty"`
	// Cleared: known not to have been applied, by its own definite reply or
	// because no byte of it left.
	Cleared bool `json:"cleared,omitempty"`
	// Proved: known to have been applied.
	Proved bool `json:"proved,omitempty"`
	// Outcome is what was observed of it, in one word of OutcomeKind.
	Outcome OutcomeKind `json:"observed_outcome,omitempty"`
	EndedAt time.Time   `json:"ended_at,omitzero"`
	// TaskID is the upstream's handle when it answered with a task.
	TaskID string `json:"task_id,omitempty"`
	// Bookings are what the attempt takes from a budget.
	Bookings []Booking `json:"bookings,omitempty"`
}

// Open reports whether the attempt may have been applied for all that is
// known of it.
func (a Attempt) Open() bool { return !a.Cleared }

// otherOpen reports whether an attempt other than number may have been
// applied.
func (op *Operation) otherOpen(number int) bool {
	for _, a := range op.Attempts {
		if a.Number != number && a.Open() {
			return true
		}
	}
	return false
}

// anyOpen reports whether any attempt may have been applied.
func (op *Operation) anyOpen() bool { return op.otherOpen(0) }

// proofStored reports whether a proof of an attempt has been recorded while
// another one was executing.
func (op *Operation) proofStored() bool {
	for _, a := range op.Attempts {
		if a.Proved {
			return true
		}
	}
	return false
}

// planted are the marks in the bytes of the attempt, with its provider key.
func (a *Attempt) planted() Marks {
	var marks Marks
	if a.Marks != nil {
		marks = *a.Marks
	}
	marks.ProviderKey = a.ProviderKey
	return marks
}
