// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"

	"github.com/deed-run/deed"
)

// Standing is what a resource is like beside what the operation wants.
type Standing struct {
	Object deed.Match
	// Equal: the resource is as the operation wants it.
	Equal bool
	// Version is the resource's version now, Recorded the one that the
	// operation named as its precondition; empty where there is none.
	Version  string
	Recorded string
}

// Stander reads the resource that the operation brings into a state.
type Stander interface {
	Standing(ctx context.Context, q deed.Inquest) (Standing, error)
}

// StanderFunc is a Stander.
type StanderFunc func(ctx context.Context, q deed.Inquest) (Standing, error)

// Standing calls f.
func (f StanderFunc) Standing(ctx context.Context, q deed.Inquest) (Standing, error) {
	return f(ctx, q)
}

// Convergence compares the state of a resource with the one that was wanted.
// It tells that the state is there, not who made it: without a mark in the
// object it counts only for tools declared idempotent.
type Convergence struct{ From Stander }

// Name is "state".
func (Convergence) Name() string { return "state" }

// Probe implements [Strategy].
func (s Convergence) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	at, err := s.From.Standing(ctx, q)
	if err != nil {
		return deed.Verdict{}, err
	}
	moved := at.Recorded == "" || at.Version != at.Recorded
	switch {
	case at.Equal && moved:
		if at.Object.Token == "" {
			at.Object.Token = string(q.Operation.Fingerprint)
		}
		return deed.Verdict{Kind: deed.VerdictFound, Matches: []deed.Match{at.Object}, Complete: true, Evidence: "the wanted state, at version " + at.Version}, nil
	case at.Equal:
		return undetermined("the wanted state was there before: version %s has not moved", at.Version)
	case at.Recorded != "" && !moved:
		return deed.Verdict{Kind: deed.VerdictAbsent, Complete: true, Evidence: "another state, and version " + at.Version + " has not moved"}, nil
	}
	return undetermined("another state at version %s: it may have been changed since", at.Version)
}
