// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deed-run/deed"
)

// MarkerList looks for the planted marker in a list that shows every write at
// once (read-your-write), such as issues by creator and time.
type MarkerList struct {
	From Fetcher
	// MaxPages bounds a look-up; 0 means 100. What has more pages is
	// undetermined.
	MaxPages int
}

// Name is "marker-list".
func (MarkerList) Name() string { return "marker-list" }

// Probe implements [Strategy].
func (s MarkerList) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	if q.Marks == (deed.Marks{}) {
		return undetermined("nothing was planted that could be looked for")
	}
	r, err := readAll(ctx, s.From, q, s.MaxPages)
	if err != nil {
		return deed.Verdict{}, err
	}
	return r.verdict(), nil
}

// MarkerSearch looks for the planted marker in an index that shows writes
// late. A miss says nothing before the index must have caught up: the rule's
// ReadLag has to cover Lag, or the miss is undetermined.
type MarkerSearch struct {
	From Fetcher
	// Confirm, when set, reads each hit again by its id: an index may hold
	// what is no longer so.
	Confirm Getter
	// Lag is the worst time after which the index shows a write.
	Lag      time.Duration
	MaxPages int
}

// Name is "marker-search".
func (MarkerSearch) Name() string { return "marker-search" }

// Probe implements [Strategy].
func (s MarkerSearch) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	if q.Marks == (deed.Marks{}) {
		return undetermined("nothing was planted that could be searched for")
	}
	r, err := readAll(ctx, s.From, q, s.MaxPages)
	if err != nil {
		return deed.Verdict{}, err
	}
	v := r.verdict()
	if v.Kind == deed.VerdictAbsent && (s.Lag <= 0 || s.Lag > q.Rule.ReadLag) {
		v.Kind = deed.VerdictUndetermined
		v.Evidence += fmt.Sprintf("; the index may lag by %s and the rule waits for %s", s.Lag, q.Rule.ReadLag)
	}
	if s.Confirm == nil {
		return v, nil
	}
	for i, hit := range v.Matches {
		object, err := s.Confirm.Get(ctx, q, hit.RemoteID)
		switch {
		case errors.Is(err, ErrGone):
			v.Kind, v.Matches = deed.VerdictUndetermined, nil
			v.Evidence += fmt.Sprintf("; the index names %s, which is gone", hit.RemoteID)
			return v, nil
		case err != nil:
			return deed.Verdict{}, fmt.Errorf("reading the hit %s again: %w", hit.RemoteID, err)
		}
		v.Matches[i] = object
	}
	return v, nil
}
