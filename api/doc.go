// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package api holds the types that the HTTP API /v1 of a deed gateway speaks,
// and a client for programs in Go.
//
// It decides nothing and stores nothing: the gateway does. It is not the way
// to guard an effect inside a Go program that has a ledger of its own; that is
// package deed.
//
// Start with [New], then [Client.Call] for a tool that the gateway calls, or
// [Client.Claim] and [Client.Settle] around an effect of your own.
package api
