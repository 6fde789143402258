// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "slices"

// Right is something a principal may do.
type Right string

// The rights. RightResolve also covers reopening, running again and looking up;
// RightAdmin covers accepting tool definitions and fencing.
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
	return slices.Contains(p.Rights, right)
}

// reads reports whether the principal may see an operation of its tenant
// that owner began.
func (p Principal) reads(owner Actor) bool {
	return p.Actor == owner || p.May(RightRead)
}
