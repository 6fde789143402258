// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
	"pgregory.net/rapid"
)

func TestAttemptsAreWrittenAsJSONWouldWriteThem(t *testing.T) {
	short := rapid.SampledFrom([]string{"", "worker-1", "https://a.example/x?y=1", `quote " and \`, "a<b>&c", "größer", "\x7f", "\u2028", "\xff", "tab\t"})
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "zero") {
			return time.Time{}
		}
		return time.UnixMicro(rapid.Int64Range(-1e17, 1e18).Draw(t, "us")).UTC()
	})
	attempt := rapid.Custom(func(t *rapid.T) deed.Attempt {
		a := deed.Attempt{
			Number: rapid.IntRange(-1, 9).Draw(t, "number"), Nonce: short.Draw(t, "nonce"), Worker: short.Draw(t, "worker"),
			UpstreamIdentity: short.Draw(t, "upstream"), LookedUpAt: short.Draw(t, "looked up at"), BegunAt: moment.Draw(t, "begun"), SendBy: moment.Draw(t, "send"),
			ProviderKey: short.Draw(t, "key"), NewProviderKey: rapid.Bool().Draw(t, "new"), Claimant: deed.Digest(short.Draw(t, "claimant")),
			Claim: deed.Digest(short.Draw(t, "claim")), Continues: rapid.IntRange(0, 2).Draw(t, "continues"),
			Cleared: rapid.Bool().Draw(t, "cleared"), Proved: rapid.Bool().Draw(t, "proved"),
			Outcome: deed.OutcomeKind(short.Draw(t, "outcome")), EndedAt: moment.Draw(t, "ended"), TaskID: short.Draw(t, "task"),
		}
		switch rapid.IntRange(0, 6).Draw(t, "more") {
		case 0:
			a.Marks = &deed.Marks{Marker: "m"}
		case 1:
			a.Probing = &deed.Probing{}
		case 2:
			a.Bookings = []deed.Booking{{Budget: "b"}}
		}
		return a
	})
	rapid.Check(t, func(t *rapid.T) {
		attempts := rapid.SliceOfN(attempt, 1, 3).Draw(t, "attempts")
		want, wantErr := json.Marshal(attempts)
		got, err := sqlite.AttemptsText(attempts)
		if (err == nil) != (wantErr == nil) || string(got) != string(want) {
			t.Fatalf("wrote\n%s (%v), JSON is\n%s (%v)", got, err, want, wantErr)
		}
	})
}

// An attempt that gains a field must be written with it.
func TestEveryFieldOfAnAttemptIsWritten(t *testing.T) {
	written := 0
	for field := range reflect.TypeFor[deed.Attempt]().Fields() {
		if field.Tag.Get("json") != "-" {
			written++
		}
	}
	if written != 21 {
		t.Fatalf("%d fields of an attempt are stored, not the 21 that attemptsText knows: add the others to appendAttempt or to ordinary, and count again", written)
	}
}
