// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"fmt"

	"github.com/deed-run/deed"
)

// Phase is where a prepared object stands.
type Phase string

const (
	// PhasePrepared: it waits for its commit, such as a draft.
	PhasePrepared Phase = "prepared"
	// PhaseCommitted: the transition has happened: sent, captured, merged.
	PhaseCommitted Phase = "committed"
	// PhaseGone: it is not there; it was committed, or somebody removed it.
	PhaseGone Phase = "gone"
)

// Phaser reads the state of the object that the operation commits. The Token
// of the match is the mark that the object was prepared with.
type Phaser interface {
	Phase(ctx context.Context, q deed.Inquest) (Phase, deed.Match, error)
}

// PhaserFunc is a Phaser.
type PhaserFunc func(ctx context.Context, q deed.Inquest) (Phase, deed.Match, error)

// Phase calls f.
func (f PhaserFunc) Phase(ctx context.Context, q deed.Inquest) (Phase, deed.Match, error) {
	return f(ctx, q)
}

// TwoPhase reads whether a prepared object has been committed.
type TwoPhase struct{ From Phaser }

// Name is "two-phase".
func (TwoPhase) Name() string { return "two-phase" }

// Probe implements [Strategy].
func (s TwoPhase) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	phase, object, err := s.From.Phase(ctx, q)
	if err != nil {
		return deed.Verdict{}, err
	}
	evidence := fmt.Sprintf("%s is %s", object.RemoteID, phase)
	switch phase {
	case PhaseCommitted:
		return deed.Verdict{Kind: deed.VerdictFound, Matches: []deed.Match{object}, Complete: true, Evidence: evidence}, nil
	case PhasePrepared:
		return deed.Verdict{Kind: deed.VerdictAbsent, Complete: true, Evidence: evidence}, nil
	case PhaseGone:
		return undetermined("the prepared object is gone: committed, or removed by somebody")
	}
	return undetermined("an unknown phase: %s", evidence)
}
