// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package policy reads deed.yaml and turns it into what the rest of deed asks
// for: a [deed.Policy], per-tool settings for the gateways, and explanations
// for people.
//
// Start with [Load], or with [BareConfig] when there is no file. Reading is strict: a
// key that is not known, or known but without effect in this version, is
// refused with its line and with what to write, because a rule that is accepted
// and ignored guards nothing.
//
// The package decides nothing about a call beyond the class of its tool and the
// conditions that a person wrote; it sends nothing, opens no connection and
// stores nothing.
package policy
