// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/deed-run/deed"
)

// ClientID reads the object whose identity was chosen by us. Where the
// provider refuses a second object of the same identity, an object with it is
// ours; the Token of what is read is its client id, or the marker where one
// was planted too.
type ClientID struct {
	From Getter
	// BestEffort: the provider does not promise to refuse a second object of
	// the same identity, or does not read its own writes at once. Then a miss
	// is never an absence.
	BestEffort bool
}

// Name is "client-id".
func (ClientID) Name() string { return "client-id" }

// Probe implements [Strategy].
func (s ClientID) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	if q.Marks.ClientID == "" {
		return undetermined("no client id was sent")
	}
	object, err := s.From.Get(ctx, q, q.Marks.ClientID)
	switch {
	case errors.Is(err, ErrGone) && s.BestEffort:
		return undetermined("nothing under %s, which proves nothing here", q.Marks.ClientID)
	case errors.Is(err, ErrGone):
		return deed.Verdict{Kind: deed.VerdictAbsent, Complete: true, Evidence: "nothing under " + q.Marks.ClientID}, nil
	case err != nil:
		return deed.Verdict{}, fmt.Errorf("reading %s: %w", q.Marks.ClientID, err)
	}
	if !carries(q, object.Token) {
		return deed.Verdict{
			Kind: deed.VerdictUndetermined, Matches: []deed.Match{object}, Complete: true,
			Evidence: "an object under " + q.Marks.ClientID + " without our mark",
		}, nil
	}
	return deed.Verdict{Kind: deed.VerdictFound, Matches: []deed.Match{object}, Complete: true}, nil
}
