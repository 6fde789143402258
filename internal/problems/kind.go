// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package problems

import "net/http"

// Page documents the kinds, which are its fragments.
const Page = "https://github.com/deed-run/deed/blob/main/docs/problems.md"

// The kinds that no decision has; a decision's is its word with hyphens. Package
// api promises the same ones to its clients.
const (
	Uncertain       = "outcome-uncertain"
	NotSent         = "not-sent"
	Unavailable     = "ledger-unavailable"
	Unauthenticated = "unauthenticated"
	CrossOrigin     = "cross-origin"
	Malformed       = "malformed-request"
	TooLarge        = "body-too-large"
	NoAnswer        = "no-answer"
	// NoReply is the proxy's alone, of what is not recorded.
	NoReply = "no-answer-from-upstream"
)

// Challenge is the WWW-Authenticate of an answer to a caller who is not known: it
// asks for a bearer token (RFC 6750 section 3).
func Challenge(r *http.Request) string {
	challenge := `Bearer realm="deed"`
	if r.Header.Get("Authorization") != "" {
		challenge += `, error="invalid_token"`
	}
	return challenge
}
