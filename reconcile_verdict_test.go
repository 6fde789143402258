// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// passing is a miss that counts: lease 30 s, processing 2 min, lag 1 min.
func passing() deed.Absence {
	return deed.Absence{
		MaxProcessing: 2 * time.Minute, ReadLag: time.Minute, Watched: 210 * time.Second,
		BegunAt: noon, SendBy: noon.Add(30 * time.Second), LookedAt: noon.Add(210 * time.Second), Complete: true,
		Misses: 1, LastMiss: noon.Add(150 * time.Second),
	}
}

func TestTheGateOfAbsence(t *testing.T) {
	for _, c := range []struct {
		name            string
		change          func(*deed.Absence)
		passes, permits bool
	}{
		{"the second miss after everything is over counts", func(*deed.Absence) {}, true, true},
		{"the first miss passes and permits nothing", func(a *deed.Absence) { a.Misses, a.LastMiss = 0, time.Time{} }, true, false},
		{"without a declared processing time absence never counts", func(a *deed.Absence) { a.MaxProcessing = 0 }, false, false},
		{"a negative processing time is none", func(a *deed.Absence) { a.MaxProcessing = -time.Hour }, false, false},
		{"a millisecond too early by the ledger", func(a *deed.Absence) { a.LookedAt = a.LookedAt.Add(-time.Millisecond) }, false, false},
		{"a millisecond too early by the observer's own clock", func(a *deed.Absence) { a.Watched -= time.Millisecond }, false, false},
		{"the ledger's clock jumped and the observer's did not", func(a *deed.Absence) {
			a.LookedAt, a.LastMiss, a.Watched = a.LookedAt.Add(time.Hour), a.LookedAt, time.Second
		}, false, false},
		{"not all pages were read", func(a *deed.Absence) { a.Complete = false }, false, false},
		{"the misses are closer than the lag", func(a *deed.Absence) { a.LastMiss = a.LookedAt.Add(-59 * time.Second) }, false, false},
		{"a consistent read still needs two looks apart", func(a *deed.Absence) {
			a.ReadLag, a.LastMiss = 0, a.LookedAt.Add(-500*time.Millisecond)
		}, false, false},
		{"a consistent read a second apart", func(a *deed.Absence) { a.ReadLag, a.LastMiss = 0, a.LookedAt.Add(-time.Second) }, true, true},
		{"a later attempt moves send_by and shuts the gate", func(a *deed.Absence) { a.SendBy = a.SendBy.Add(time.Second) }, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := passing()
			c.change(&a)
			if a.Passes() != c.passes || a.Permits() != c.permits {
				t.Errorf("passes %v, permits %v; want %v, %v", a.Passes(), a.Permits(), c.passes, c.permits)
			}
		})
	}
}

func TestAVerdictIsJudgedByItsMarks(t *testing.T) {
	own := deed.Match{RemoteID: "re_1", Token: "MARKER"}
	other := deed.Match{RemoteID: "re_9", Token: "SOMEBODYELSES"}
	bare := deed.Match{RemoteID: "re_8"}
	for _, c := range []struct {
		name       string
		verdict    deed.Verdict
		idempotent bool
		want       deed.VerdictKind
		id         string
	}{
		{"one with our mark", deed.Verdict{Kind: deed.VerdictFound, Complete: true, Matches: []deed.Match{own}}, false, deed.VerdictFound, "re_1"},
		{"one with our mark among others", deed.Verdict{Kind: deed.VerdictMany, Complete: true, Matches: []deed.Match{other, own, bare}}, false, deed.VerdictFound, "re_1"},
		{"the same object on two pages", deed.Verdict{Kind: deed.VerdictMany, Complete: true, Matches: []deed.Match{own, own}}, false, deed.VerdictFound, "re_1"},
		{"two objects with our mark, said to be one", deed.Verdict{Kind: deed.VerdictFound, Complete: true, Matches: []deed.Match{own, {RemoteID: "re_2", Token: "MARKER"}}}, false, deed.VerdictMany, ""},
		{"two objects without id", deed.Verdict{Kind: deed.VerdictFound, Complete: true, Matches: []deed.Match{{Token: "MARKER"}, {Token: "MARKER"}}}, false, deed.VerdictMany, ""},
		{"by the client id", deed.Verdict{Kind: deed.VerdictFound, Complete: true, Matches: []deed.Match{{RemoteID: "x", Token: "client-1"}}}, false, deed.VerdictFound, "x"},
		{"by the provider key", deed.Verdict{Kind: deed.VerdictFound, Complete: true, Matches: []deed.Match{{RemoteID: "x", Token: "pk-1"}}}, false, deed.VerdictFound, "x"},
		{"found without a token", deed.Verdict{Kind: deed.VerdictFound, Complete: true, Matches: []deed.Match{bare}}, false, deed.VerdictUndetermined, ""},
		{"found with another's token", deed.Verdict{Kind: deed.VerdictFound, Complete: true, Matches: []deed.Match{other}}, false, deed.VerdictUndetermined, ""},
		{"found and not everything read", deed.Verdict{Kind: deed.VerdictFound, Matches: []deed.Match{own}}, false, deed.VerdictUndetermined, ""},
		{"found and no match", deed.Verdict{Kind: deed.VerdictFound, Complete: true}, false, deed.VerdictUndetermined, ""},
		{"absent", deed.Verdict{Kind: deed.VerdictAbsent, Complete: true}, false, deed.VerdictAbsent, ""},
		{"absent and yet it names one", deed.Verdict{Kind: deed.VerdictAbsent, Complete: true, Matches: []deed.Match{own}}, false, deed.VerdictUndetermined, ""},
		{"a verdict of no known kind", deed.Verdict{Kind: "probably", Complete: true, Matches: []deed.Match{own}}, false, deed.VerdictUndetermined, ""},
		{"the wanted state of an idempotent tool", deed.Verdict{Kind: deed.VerdictFound, Complete: true, Matches: []deed.Match{{RemoteID: "t", Token: "sha256:want"}}}, true, deed.VerdictFound, "t"},
		{"the wanted state of a tool that is not", deed.Verdict{Kind: deed.VerdictFound, Complete: true, Matches: []deed.Match{{RemoteID: "t", Token: "sha256:want"}}}, false, deed.VerdictUndetermined, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			effect := deed.EffectNonIdempotent
			if c.idempotent {
				effect = deed.EffectIdempotent
			}
			q := deed.Inquest{
				Operation: &deed.Operation{Effect: effect, Fingerprint: "sha256:want"}, Rule: deed.Rule{Effect: effect},
				Marks: deed.Marks{Marker: "MARKER", ClientID: "client-1", ProviderKey: "pk-1"},
			}
			kind, match := deed.Judge(q, c.verdict)
			if kind != c.want || match.RemoteID != c.id {
				t.Errorf("got %s %q, want %s %q", kind, match.RemoteID, c.want, c.id)
			}
		})
	}
}
