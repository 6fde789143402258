// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"fmt"
	"strings"

	"github.com/deed-run/deed"
)

// Strategy is one way to look an effect up. It is safe for concurrent use,
// heeds ctx, and returns an error, or an undetermined verdict, for whatever it
// could not read whole.
type Strategy interface {
	// Name is a word for receipts and histories, such as "marker-list".
	Name() string
	Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error)
}

// Ladder tries strategies in order of preference. The first find, of one
// object or of several, is the answer. An absence is one only if no rung saw
// anything that might be the effect; a rung that fails is evidence.
type Ladder []Strategy

// Name lists the rungs.
func (l Ladder) Name() string {
	names := make([]string, len(l))
	for i, rung := range l {
		names[i] = rung.Name()
	}
	return strings.Join(names, ", ")
}

// Probe implements [Strategy] and deed.Reconciler.
func (l Ladder) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	var absent *deed.Verdict
	var evidence []string
	var suspects []deed.Match
	for _, rung := range l {
		v, err := rung.Probe(ctx, q)
		if err != nil {
			evidence = append(evidence, rung.Name()+": "+err.Error())
			continue
		}
		v.Strategy = rung.Name()
		if v.Evidence != "" {
			evidence = append(evidence, rung.Name()+": "+v.Evidence)
		}
		switch v.Kind {
		case deed.VerdictFound, deed.VerdictMany:
			if ours(q, v.Matches) {
				v.Evidence = strings.Join(evidence, "; ")
				return v, nil
			}
			suspects = append(suspects, v.Matches...)
		case deed.VerdictAbsent:
			if absent == nil {
				absent = &v
			}
		default:
			suspects = append(suspects, v.Matches...)
		}
	}
	out := deed.Verdict{Kind: deed.VerdictUndetermined, Strategy: l.Name(), Matches: suspects}
	switch {
	case len(l) == 0:
		evidence = append(evidence, "no strategy is configured for "+string(q.Operation.Tool))
	case absent != nil && len(suspects) > 0:
		evidence = append(evidence, fmt.Sprintf("%s sees nothing, and yet there are %d that might be it", absent.Strategy, len(suspects)))
	case absent != nil:
		out = *absent
	}
	out.Evidence = strings.Join(evidence, "; ")
	return out, nil
}

// ours reports whether any match carries a token that may be the operation's;
// the Runtime judges which.
func ours(q deed.Inquest, matches []deed.Match) bool {
	for _, m := range matches {
		if carries(q, m.Token) {
			return true
		}
	}
	return false
}

func carries(q deed.Inquest, token string) bool {
	if token == "" {
		return false
	}
	return token == q.Marks.Marker || token == q.Marks.ClientID || token == q.Marks.ProviderKey ||
		token == string(q.Operation.Fingerprint)
}

// Tools is a deed.Reconciler that knows a strategy for each tool, nil for
// those that it has none for.
type Tools func(tool deed.Tool) Strategy

// Probe implements deed.Reconciler.
func (t Tools) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	strategy := t(q.Operation.Tool)
	if strategy == nil {
		return deed.Verdict{Kind: deed.VerdictUndetermined, Strategy: "none", Evidence: "no look-up is configured for " + string(q.Operation.Tool)}, nil
	}
	v, err := strategy.Probe(ctx, q)
	if v.Strategy == "" {
		v.Strategy = strategy.Name()
	}
	return v, err
}

// undetermined is the verdict of a look-up that could not tell.
func undetermined(format string, args ...any) (deed.Verdict, error) {
	return deed.Verdict{Kind: deed.VerdictUndetermined, Evidence: fmt.Sprintf(format, args...)}, nil
}
