// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package faultkit proves, from the outside, how often a tool call takes effect
// when answers are lost and processes die.
//
// It starts the gateway as a binary and never links it: what it measures is what
// a user runs. The package has four parts: provider, a tool server that misbehaves
// on command and keeps its own ledger of effects; inject, pipes and proxies that
// lose answers; caller, a client that repeats nothing; and this package, which
// plays scenarios with them and judges the result.
//
// [Run] plays the built-in scenarios, [Prove] checks a tool of your own from a Go
// test, [ProveTool] does the same without one.
package faultkit
