// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/reconcile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var inquest = deed.Inquest{
	Operation: &deed.Operation{ID: "op_1", Tool: "tickets/create", Fingerprint: "sha256:want", Effect: deed.EffectNonIdempotent},
	Marks:     deed.Marks{Marker: "MARKER", ClientID: "client-1"},
	Rule:      deed.Rule{ReadLag: time.Minute, MaxProcessing: time.Minute},
}

var (
	own   = deed.Match{RemoteID: "t_1", Token: "MARKER"}
	own2  = deed.Match{RemoteID: "t_2", Token: "MARKER"}
	alien = deed.Match{RemoteID: "t_9", Token: "OTHER"}
	errDB = errors.New("HTTP 200: {\"error\": \"database unavailable\"}")
)

// pages serves lists page by page.
func pages(lists ...[]deed.Match) reconcile.Fetcher {
	return reconcile.FetcherFunc(func(_ context.Context, _ deed.Inquest, cursor string) ([]deed.Match, string, error) {
		at := len(cursor)
		if at+1 < len(lists) {
			return lists[at], cursor + "x", nil
		}
		return lists[at], "", nil
	})
}

// endless never names a last page, circling always the same one.
func endless(items ...deed.Match) reconcile.Fetcher {
	return reconcile.FetcherFunc(func(_ context.Context, _ deed.Inquest, cursor string) ([]deed.Match, string, error) {
		return items, cursor + "x", nil
	})
}

func circling(items ...deed.Match) reconcile.Fetcher {
	return reconcile.FetcherFunc(func(context.Context, deed.Inquest, string) ([]deed.Match, string, error) {
		return items, "again", nil
	})
}

func failing(after int, items ...deed.Match) reconcile.Fetcher {
	return reconcile.FetcherFunc(func(_ context.Context, _ deed.Inquest, cursor string) ([]deed.Match, string, error) {
		if len(cursor) >= after {
			return nil, "", errDB
		}
		return items, cursor + "x", nil
	})
}

func one(object deed.Match, err error) reconcile.Getter {
	return reconcile.GetterFunc(func(context.Context, deed.Inquest, string) (deed.Match, error) { return object, err })
}

func phase(p reconcile.Phase, object deed.Match, err error) reconcile.Phaser {
	return reconcile.PhaserFunc(func(context.Context, deed.Inquest) (reconcile.Phase, deed.Match, error) { return p, object, err })
}

func standing(s reconcile.Standing) reconcile.Stander {
	return reconcile.StanderFunc(func(context.Context, deed.Inquest) (reconcile.Standing, error) { return s, nil })
}

func entries(covers bool, list ...deed.Match) reconcile.Logger {
	return reconcile.LoggerFunc(func(context.Context, deed.Inquest) ([]deed.Match, bool, error) { return list, covers, nil })
}

func TestStrategies(t *testing.T) {
	const failed = deed.VerdictKind("error")
	for _, c := range []struct {
		name     string
		strategy reconcile.Strategy
		want     deed.VerdictKind
		ids      string
	}{
		{"a list with our mark on its second page", reconcile.MarkerList{From: pages([]deed.Match{alien}, []deed.Match{own})}, deed.VerdictFound, "t_1"},
		{"a list with two of ours", reconcile.MarkerList{From: pages([]deed.Match{own}, []deed.Match{own2})}, deed.VerdictMany, "t_1 t_2"},
		{"a list without ours", reconcile.MarkerList{From: pages([]deed.Match{alien}, nil)}, deed.VerdictAbsent, ""},
		{"an empty list", reconcile.MarkerList{From: pages(nil)}, deed.VerdictAbsent, ""},
		{"a list that never ends", reconcile.MarkerList{From: endless(alien)}, deed.VerdictUndetermined, ""},
		{"a list that never ends and has ours", reconcile.MarkerList{From: endless(own), MaxPages: 3}, deed.VerdictUndetermined, "t_1 t_1 t_1"},
		{"a list that goes in a circle", reconcile.MarkerList{From: circling(alien)}, deed.VerdictUndetermined, ""},
		{"a list that fails", reconcile.MarkerList{From: failing(0)}, failed, ""},
		{"a list that fails after a page with ours", reconcile.MarkerList{From: failing(1, own)}, failed, ""},
		{"a search that finds it", reconcile.MarkerSearch{From: pages([]deed.Match{own}), Lag: time.Minute}, deed.VerdictFound, "t_1"},
		{"a search whose hit is read again", reconcile.MarkerSearch{From: pages([]deed.Match{own}), Lag: time.Minute, Confirm: one(deed.Match{RemoteID: "t_1", Token: "MARKER", URL: "u"}, nil)}, deed.VerdictFound, "t_1"},
		{"a search whose hit is gone", reconcile.MarkerSearch{From: pages([]deed.Match{own}), Lag: time.Minute, Confirm: one(deed.Match{}, reconcile.ErrGone)}, deed.VerdictUndetermined, ""},
		{"a search whose hit cannot be read", reconcile.MarkerSearch{From: pages([]deed.Match{own}), Lag: time.Minute, Confirm: one(deed.Match{}, errDB)}, failed, ""},
		{"a search that misses", reconcile.MarkerSearch{From: pages(nil), Lag: time.Minute}, deed.VerdictAbsent, ""},
		{"a search whose index lags longer than the rule waits", reconcile.MarkerSearch{From: pages(nil), Lag: time.Hour}, deed.VerdictUndetermined, ""},
		{"a search of unknown lag", reconcile.MarkerSearch{From: pages(nil)}, deed.VerdictUndetermined, ""},
		{"an object under our id", reconcile.ClientID{From: one(deed.Match{RemoteID: "client-1", Token: "client-1"}, nil)}, deed.VerdictFound, "client-1"},
		{"an object under our id with another's mark", reconcile.ClientID{From: one(alien, nil)}, deed.VerdictUndetermined, "t_9"},
		{"nothing under our id", reconcile.ClientID{From: one(deed.Match{}, reconcile.ErrGone)}, deed.VerdictAbsent, ""},
		{"nothing under an id that is not guarded", reconcile.ClientID{From: one(deed.Match{}, reconcile.ErrGone), BestEffort: true}, deed.VerdictUndetermined, ""},
		{"an id that cannot be read", reconcile.ClientID{From: one(deed.Match{}, errDB)}, failed, ""},
		{"a draft that was sent", reconcile.TwoPhase{From: phase(reconcile.PhaseCommitted, own, nil)}, deed.VerdictFound, "t_1"},
		{"a draft that waits", reconcile.TwoPhase{From: phase(reconcile.PhasePrepared, own, nil)}, deed.VerdictAbsent, ""},
		{"a draft that is gone", reconcile.TwoPhase{From: phase(reconcile.PhaseGone, own, nil)}, deed.VerdictUndetermined, ""},
		{"a draft in no known phase", reconcile.TwoPhase{From: phase("queued", own, nil)}, deed.VerdictUndetermined, ""},
		{"a draft that cannot be read", reconcile.TwoPhase{From: phase("", own, errDB)}, failed, ""},
		{"the wanted state, moved on", reconcile.Convergence{From: standing(reconcile.Standing{Equal: true, Version: "2", Recorded: "1"})}, deed.VerdictFound, ""},
		{"the wanted state from before", reconcile.Convergence{From: standing(reconcile.Standing{Equal: true, Version: "1", Recorded: "1"})}, deed.VerdictUndetermined, ""},
		{"another state, not moved", reconcile.Convergence{From: standing(reconcile.Standing{Version: "1", Recorded: "1"})}, deed.VerdictAbsent, ""},
		{"another state, moved on", reconcile.Convergence{From: standing(reconcile.Standing{Version: "3", Recorded: "1"})}, deed.VerdictUndetermined, ""},
		{"another state without a precondition", reconcile.Convergence{From: standing(reconcile.Standing{Version: "3"})}, deed.VerdictUndetermined, ""},
		{"a log with our entry", reconcile.LocalLog{From: entries(true, alien, own)}, deed.VerdictFound, "t_1"},
		{"a log without", reconcile.LocalLog{From: entries(true, alien)}, deed.VerdictAbsent, ""},
		{"a log that was rotated", reconcile.LocalLog{From: entries(false)}, deed.VerdictUndetermined, ""},
		{"a rotated log with our entry", reconcile.LocalLog{From: entries(false, own)}, deed.VerdictFound, "t_1"},
		{"look-alikes", reconcile.Heuristic{From: pages([]deed.Match{own})}, deed.VerdictUndetermined, "t_1"},
		{"no look-alikes", reconcile.Heuristic{From: pages(nil)}, deed.VerdictUndetermined, ""},
		{"no callback", reconcile.Inbound{}, deed.VerdictUndetermined, ""},
		{"a person", reconcile.Human{Ask: "look into the dashboard"}, deed.VerdictUndetermined, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := c.strategy.Probe(t.Context(), inquest)
			kind := v.Kind
			if err != nil {
				kind = failed
			}
			if kind != c.want {
				t.Errorf("%s (%v), want %s", kind, err, c.want)
			}
			if got := ids(v); err == nil && got != c.ids {
				t.Errorf("matches %q, want %q", got, c.ids)
			}
			if err == nil && kind == deed.VerdictUndetermined && v.Evidence == "" {
				t.Error("it does not say why")
			}
		})
	}
}

func ids(v deed.Verdict) string {
	var list []string
	for _, m := range v.Matches {
		if m.RemoteID != "" {
			list = append(list, m.RemoteID)
		}
	}
	return strings.Join(list, " ")
}

func TestNothingIsLookedForThatWasNotPlanted(t *testing.T) {
	bare := inquest
	bare.Marks = deed.Marks{}
	for _, s := range []reconcile.Strategy{
		reconcile.MarkerList{From: pages([]deed.Match{{RemoteID: "x"}})},
		reconcile.MarkerSearch{From: pages([]deed.Match{{RemoteID: "x"}}), Lag: time.Second},
		reconcile.ClientID{From: one(deed.Match{RemoteID: "x"}, nil)},
	} {
		if v, err := s.Probe(t.Context(), bare); err != nil || v.Kind != deed.VerdictUndetermined {
			t.Errorf("%s: %s %v", s.Name(), v.Kind, err)
		}
	}
}

func TestALadderGoesDownUntilItIsFound(t *testing.T) {
	miss := reconcile.MarkerList{From: pages(nil)}
	for _, c := range []struct {
		name     string
		ladder   reconcile.Ladder
		want     deed.VerdictKind
		strategy string
	}{
		{"the first that finds it", reconcile.Ladder{reconcile.Inbound{}, reconcile.MarkerList{From: pages([]deed.Match{own})}, reconcile.MarkerList{From: failing(0)}}, deed.VerdictFound, "marker-list"},
		{"a rung that fails is passed", reconcile.Ladder{reconcile.ClientID{From: one(deed.Match{}, errDB)}, reconcile.MarkerList{From: pages([]deed.Match{own})}}, deed.VerdictFound, "marker-list"},
		{"a find below wins over a miss above", reconcile.Ladder{miss, reconcile.LocalLog{From: entries(true, own)}}, deed.VerdictFound, "local-log"},
		{"a miss and nothing else", reconcile.Ladder{miss, reconcile.Human{}}, deed.VerdictAbsent, "marker-list"},
		{"a miss beside a look-alike", reconcile.Ladder{miss, reconcile.Heuristic{From: pages([]deed.Match{alien})}}, deed.VerdictUndetermined, "marker-list, look-alike"},
		{"a miss beside an object under our id with another's mark", reconcile.Ladder{reconcile.ClientID{From: one(alien, nil)}, miss}, deed.VerdictUndetermined, "client-id, marker-list"},
		{"everything fails", reconcile.Ladder{reconcile.MarkerList{From: failing(0)}, reconcile.MarkerList{From: endless()}}, deed.VerdictUndetermined, "marker-list, marker-list"},
		{"a heuristic alone", reconcile.Ladder{reconcile.Heuristic{From: pages([]deed.Match{own})}}, deed.VerdictUndetermined, "look-alike"},
		{"an empty ladder", nil, deed.VerdictUndetermined, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := c.ladder.Probe(t.Context(), inquest)
			if err != nil || v.Kind != c.want || v.Strategy != c.strategy {
				t.Errorf("%s by %q (%v), want %s by %q", v.Kind, v.Strategy, err, c.want, c.strategy)
			}
		})
	}
}

func TestEachToolHasItsLookUp(t *testing.T) {
	tools := reconcile.Tools(func(tool deed.Tool) reconcile.Strategy {
		if tool == "tickets/create" {
			return reconcile.MarkerList{From: pages([]deed.Match{own})}
		}
		return nil
	})
	if v, err := tools.Probe(t.Context(), inquest); err != nil || v.Kind != deed.VerdictFound || v.Strategy != "marker-list" {
		t.Errorf("%+v %v", v, err)
	}
	other := inquest
	other.Operation = &deed.Operation{Tool: "mail/send"}
	if v, err := tools.Probe(t.Context(), other); err != nil || v.Kind != deed.VerdictUndetermined {
		t.Errorf("%+v %v", v, err)
	}
}
