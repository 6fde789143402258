// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "fmt"

// Family is the kind of identity that names an operation. Families never
// mix: the same text in two families names two operations.
type Family string

// The identity families and what a repeat is answered with: an operation key
// yields the stored result and receipt, a creation id the original receipt, a
// secret key the receipt and only to the principal that sent it.
const (
	FamilyOperation Family = "operation"
	FamilyCreation  Family = "creation"
	FamilySecret    Family = "secret"
)

// Provenance says where a key came from, from the most to the least
// trustworthy.
type Provenance string

const (
	// ProvenanceRuntime: the caller's runtime named the operation.
	ProvenanceRuntime Provenance = "runtime"
	// ProvenanceDerived: a configured rule built the key from declared facts.
	ProvenanceDerived Provenance = "derived"
	// ProvenanceCallID: the client's stable id of this call, with its session.
	ProvenanceCallID Provenance = "call_id"
	// ProvenanceModel: the model wrote it, in the argument that deed added.
	ProvenanceModel Provenance = "model"
	// ProvenanceNone: nobody named the operation; a random identity stands in.
	ProvenanceNone Provenance = "none"
)

// explicit reports whether the key was given by a runtime or a rule, which
// may repeat a committed effect on purpose. Model keys, call ids and keyless
// calls may not.
func (p Provenance) explicit() bool {
	return p == ProvenanceRuntime || p == ProvenanceDerived
}

// Identity names one intended action in one of three families. The three
// types cannot be exchanged for one another: a retry helper written for
// OperationKey does not compile with a RegistrationKey.
type Identity interface {
	Family() Family
	text() string
}

// OperationKey names one intended action. In Go and in MCP it matches
// ^[A-Za-z0-9_.:-]{16,255}$ and is compared bytewise.
type OperationKey string

// Family returns FamilyOperation.
func (OperationKey) Family() Family { return FamilyOperation }

func (k OperationKey) text() string { return string(k) }

// CreationID names the resource that an action creates, chosen by the caller
// before the action. Same shape as OperationKey.
type CreationID string

// Family returns FamilyCreation.
func (CreationID) Family() Family { return FamilyCreation }

func (k CreationID) text() string { return string(k) }

// RegistrationKey is a confidential identity of at least 32 characters. The
// ledger keeps an HMAC of it; it never appears in a log, span or answer, and
// formatting it yields a placeholder.
type RegistrationKey struct{ secret string }

// NewRegistrationKey wraps the secret text.
func NewRegistrationKey(secret string) RegistrationKey { return RegistrationKey{secret} }

// Family returns FamilySecret.
func (RegistrationKey) Family() Family { return FamilySecret }

func (k RegistrationKey) text() string { return k.secret }

// String returns a placeholder, never the secret.
func (RegistrationKey) String() string { return "[registration key]" }

// GoString returns a placeholder, never the secret.
func (RegistrationKey) GoString() string { return "[registration key]" }

// IdentityOf is the identity that text names in a family; one that is not known,
// and none, mean FamilyOperation. It checks no shape: Claim does.
func IdentityOf(family Family, text string) Identity {
	switch family {
	case FamilyCreation:
		return CreationID(text)
	case FamilySecret:
		return NewRegistrationKey(text)
	}
	return OperationKey(text)
}

// Carrier is one identity found on a request and where it was found.
type Carrier struct {
	Provenance Provenance
	Identity   Identity
	// Name tells the caller which carrier is meant, such as the header
	// "Idempotency-Key" or `_meta["deed/idempotency-key"]`.
	Name string
	// Before are names that an earlier version of the gateway would have made of
	// the same carrier, of provenance runtime: an operation that has one of them is
	// found by it, and is given the present one. nil for most.
	Before []Identity
	// Wrong, when not empty, says why what was found is no key at all, such as of
	// which other type it is: the call is refused, whatever Identity says.
	Wrong string
}

// Key is a resolved identity within a tenant, as the ledger stores it. Keys
// and aliases share one unique index over all four identifying fields.
type Key struct {
	// Actor is empty when the identity is scoped by tenant.
	Actor  Actor
	Family Family
	// Text is the key itself; for FamilySecret its HMAC in hex.
	Text string
	// Generation counts the successive operations under one derived key,
	// from 1.
	Generation int
	Provenance Provenance
}

const (
	minKeyLength    = 16
	maxKeyLength    = 255
	minSecretLength = 32
)

// checkKey explains what is wrong with the shape of an identity, or returns
// "". HTTP profiles, whose keys are 1 to 255 visible ASCII characters, set
// visibleASCII.
func checkKey(id Identity, visibleASCII bool) string {
	text := id.text()
	least := minKeyLength
	switch {
	case id.Family() == FamilySecret:
		if len(text) < minSecretLength {
			return fmt.Sprintf("a registration key has at least %d characters", minSecretLength)
		}
		return ""
	case visibleASCII:
		least = 1
	}
	if text == "" {
		return fmt.Sprintf("it is empty: send one of at least %d characters, or leave it out to send none", least)
	}
	for i, c := range []byte(text) {
		if visibleASCII && c > ' ' && c < 0x7f {
			continue
		}
		if visibleASCII || !keyCharacter(c) {
			return fmt.Sprintf("character %d (%q) is not allowed", i+1, c)
		}
	}
	if len(text) < least {
		return fmt.Sprintf("%d of at least %d characters", len(text), least)
	}
	if len(text) > maxKeyLength {
		return fmt.Sprintf("%d of at most %d characters", len(text), maxKeyLength)
	}
	return ""
}

func keyCharacter(c byte) bool {
	switch {
	case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		return true
	}
	return c == '_' || c == '.' || c == ':' || c == '-'
}
