// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package problems holds the words in which the HTTP doors say no, or not yet: the
// kind, the title and the detail of a problem of RFC 9457, for each decision and
// reason. It writes no answer and chooses no status code: the doors do, and a
// dialect may put other words in their place.
//
// Start with [Of].
package problems
