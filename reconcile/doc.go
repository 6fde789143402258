// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package reconcile finds out what became of operations whose answer was lost:
// the strategies that providers allow, a [Ladder] of them for each tool, a
// [Worker] that looks up what is due, and an [Inbox] for webhooks and status
// callbacks.
//
// A strategy only reads. It claims what it saw, and the Runtime judges: a find
// counts when exactly one object carries the mark that was planted for this
// operation, an absence only behind the gate of the tool's declared times. To
// present the same bytes again under a provider key is not a look-up but an
// attempt, and is not here.
//
// How a provider is asked is not here either: gateways and connectors supply a
// [Fetcher], a [Getter] or one of the other small interfaces, all of them made
// of the types of the domain.
//
// Start with [MarkerList] or [ClientID], put them into a [Ladder], give
// [Tools] to deed.Options.Reconciler, and [Start] a worker.
package reconcile
