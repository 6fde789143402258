// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "strings"

// Tenant is the outermost scope of every record: nothing crosses it.
type Tenant string

// Actor is the authenticated agent, worker or person behind a call.
type Actor string

// Tool names one capability as "upstream/name".
type Tool string

// Upstream returns the part before the first slash, or "" if there is none.
func (t Tool) Upstream() string {
	upstream, _, found := strings.Cut(string(t), "/")
	if !found {
		return ""
	}
	return upstream
}

// Name returns the tool's own name, without its upstream.
func (t Tool) Name() string {
	_, name, found := strings.Cut(string(t), "/")
	if !found {
		return string(t)
	}
	return name
}

// OperationID is "op_" and 26 Crockford base32 characters, of which the first
// ten grow with time, so that ids sort by age.
type OperationID string

// EventID is "ev_" and 26 Crockford base32 characters, sorting by age like
// an OperationID.
type EventID string

// Fingerprint is "sha256:" and the hex digest over the canonical effect: the
// fields of tool and arguments that make two calls the same effect.
type Fingerprint string

// Matter is the canonical JSON list of the values that name the business
// subject of an effect, such as ["order-1042"]. It is coarser than the
// fingerprint. Empty means that the effect has no declared matter.
type Matter string

// Digest is "sha256:" and hex over bytes: of a payload, of a tool definition,
// of a set of rules.
type Digest string

// Right is something a principal may do.
type Right string

// The rights. RightResolve also covers reopen, run, reconcile and release;
// RightAdmin covers accepting tool definitions, fencing and shredding.
const (
	RightCall    Right = "call"
	RightRead    Right = "read"
	RightApprove Right = "approve"
	RightResolve Right = "resolve"
	RightAdmin   Right = "admin"
)

// Principal is who makes a call, as established by authentication and never
// by arguments.
type Principal struct {
	Tenant Tenant  `json:"tenant"`
	Actor  Actor   `json:"actor"`
	Rights []Right `json:"rights,omitempty"`
}

// May reports whether the principal holds the right.
func (p Principal) May(right Right) bool {
	for _, r := range p.Rights {
		if r == right {
			return true
		}
	}
	return false
}

// reads reports whether the principal may see an operation of its tenant
// that owner began.
func (p Principal) reads(owner Actor) bool {
	return p.Actor == owner || p.May(RightRead)
}
