// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"testing"

	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/problems"
)

// Clients compare with the words of package api, which imports nothing but the
// domain.
func TestTheKindsOfProblemsAreThoseThatClientsKnow(t *testing.T) {
	for ours, theirs := range map[string]string{
		problems.Page: api.ProblemPage, problems.Uncertain: api.TypeUncertain, problems.NotSent: api.TypeNotSent,
		problems.Unavailable: api.TypeUnavailable, problems.Unauthenticated: api.TypeUnauthenticated, problems.CrossOrigin: api.TypeCrossOrigin,
		problems.Malformed: api.TypeMalformed, problems.TooLarge: api.TypeTooLarge, problems.NoAnswer: api.TypeNoAnswer,
	} {
		if ours != theirs {
			t.Errorf("a door says %q, and clients know %q", ours, theirs)
		}
	}
}
