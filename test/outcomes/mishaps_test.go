// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import "github.com/deed-run/deed/faultkit/provider"

// mishap is one thing that goes wrong with one call: at the provider, or in the
// gateway, which dies at a point.
type mishap struct {
	name  string
	fault provider.FaultKind
	crash string
	// held: the provider acts only after the gateway has given up waiting.
	held bool
}

// mishaps are in the order in which they are played: those that end the gateway
// first, so that the last one has watched the whole of what it must judge.
func mishaps() []mishap {
	return []mishap{
		{name: "crash-p1-nothing-stored", crash: "P1"},
		{name: "crash-p2-nothing-sent", crash: "P2"},
		{name: "crash-p3-receipt-not-stored", crash: "P3"},
		{name: "crash-p4-not-answered", crash: "P4"},
		{name: "reply-lost", fault: provider.CommitDrop},
		{name: "request-lost", fault: provider.Lose},
		{name: "hang-after-commit", fault: provider.CommitHang},
		{name: "5xx-after-commit", fault: provider.Commit5xx},
		{name: "503-before-commit", fault: provider.RejectPrecommit},
		{name: "404-session-after-commit", fault: provider.Commit404},
		{name: "truncated-body", fault: provider.HalfJSON},
		{name: "hang-before-commit", fault: provider.Hang, held: true},
	}
}
