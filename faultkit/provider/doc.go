// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package provider is a tool provider that misbehaves on command.
//
// It stands in for the payment service, the mail server or the ticket system at
// the far end of a tool call. It keeps its own ledger of effects on disk, apart
// from whatever calls it, so a test can ask how often something really happened
// and not how often somebody believes it happened. Every fault is chosen through
// a control port, is applied in a fixed order and needs no chance and no timer.
//
// It is not a model of any real provider's rules, and it keeps nothing secret:
// bind it to the loopback interface only.
//
// Use [Main] to run it as a process of its own and [Client] to steer it. [Open]
// gives the same provider inside a test.
package provider
