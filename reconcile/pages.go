// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/deed-run/deed"
)

// Fetcher reads the objects at the provider among which the effect would be:
// those made since q.SentAt, less some minutes for clocks that disagree. The
// first cursor is empty, and so is the next one after the last page. The Token
// of an item is the mark as read from it, or empty.
//
// It must go to where the operation went (q.Operation.UpstreamIdentity), and
// an answer that is an error by its content, whatever its HTTP status, is an
// error.
type Fetcher interface {
	Fetch(ctx context.Context, q deed.Inquest, cursor string) (items []deed.Match, next string, err error)
}

// FetcherFunc is a Fetcher.
type FetcherFunc func(ctx context.Context, q deed.Inquest, cursor string) ([]deed.Match, string, error)

// Fetch calls f.
func (f FetcherFunc) Fetch(ctx context.Context, q deed.Inquest, cursor string) ([]deed.Match, string, error) {
	return f(ctx, q, cursor)
}

// ErrGone is returned by a Getter for an object that is not there.
var ErrGone = errors.New("no such object")

// Getter reads one object by its identity. ErrGone says that there is none; it
// must not be returned for want of a permission to see it.
type Getter interface {
	Get(ctx context.Context, q deed.Inquest, id string) (deed.Match, error)
}

// GetterFunc is a Getter.
type GetterFunc func(ctx context.Context, q deed.Inquest, id string) (deed.Match, error)

// Get calls f.
func (f GetterFunc) Get(ctx context.Context, q deed.Inquest, id string) (deed.Match, error) {
	return f(ctx, q, id)
}

// defaultPages bounds a look-up that names no bound of its own.
const defaultPages = 100

// maxSuspects bounds how many items without our mark are kept as evidence.
const maxSuspects = 20

// reading is what all pages together hold.
type reading struct {
	own      []deed.Match
	others   int
	pages    int
	complete bool
	// why says what kept the reading from being complete.
	why string
}

// readAll reads pages until the last, the bound, a cursor that comes back, or
// an error.
func readAll(ctx context.Context, from Fetcher, q deed.Inquest, maxPages int) (reading, error) {
	if maxPages <= 0 {
		maxPages = defaultPages
	}
	var r reading
	seen := map[string]bool{}
	for cursor := ""; ; {
		items, next, err := from.Fetch(ctx, q, cursor)
		if err != nil {
			return r, fmt.Errorf("page %d: %w", r.pages+1, err)
		}
		r.pages++
		for _, item := range items {
			if !carries(q, item.Token) {
				r.others++
				continue
			}
			if len(r.own) < maxSuspects {
				r.own = append(r.own, item)
			}
		}
		switch {
		case next == "":
			r.complete = true
			return r, nil
		case seen[next]:
			r.why = fmt.Sprintf("after page %d the provider names a page that was read already", r.pages)
			return r, nil
		case r.pages >= maxPages:
			r.why = fmt.Sprintf("there are more than %d pages", maxPages)
			return r, nil
		}
		seen[next], cursor = true, next
	}
}

// verdict turns a reading into a claim.
func (r reading) verdict() deed.Verdict {
	v := deed.Verdict{
		Matches: r.own, Complete: r.complete,
		Evidence: fmt.Sprintf("read %d pages: %d with the mark, %d without", r.pages, len(r.own), r.others),
	}
	switch {
	case !r.complete:
		v.Kind, v.Evidence = deed.VerdictUndetermined, v.Evidence+"; "+r.why
	case len(r.own) == 0:
		v.Kind = deed.VerdictAbsent
	case len(r.own) == 1:
		v.Kind = deed.VerdictFound
	default:
		v.Kind = deed.VerdictMany
	}
	return v
}
