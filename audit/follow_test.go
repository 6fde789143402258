// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/audit"
	"github.com/deed-run/deed/sqlite"
	"github.com/deed-run/deed/storetest"
)

func TestWhatIsYoungerThanTheTrailWaits(t *testing.T) {
	s := newScene(t)
	clock := storetest.NewClock(time.Now())
	f := s.follower()
	f.Trail, f.Clock = time.Hour, clock
	if n, _, err := f.Append(t.Context()); n != 0 || err != nil {
		t.Errorf("of events of this minute %d were logged, %v", n, err)
	}
	clock.Advance(2 * time.Hour)
	n, at, err := f.Append(t.Context())
	if n == 0 || at.Size != n || err != nil {
		t.Errorf("two hours later %d were logged, %v", n, err)
	}
}

// behind is a ledger whose clock is behind that of whoever appends.
type behind struct {
	audit.Ledger
	by time.Duration
}

func (b behind) Load(ctx context.Context, scope deed.Scope) (deed.View, error) {
	view, err := b.Ledger.Load(ctx, scope)
	view.Now = view.Now.Add(-b.by)
	return view, err
}

func TestTheTrailIsMeasuredByTheClockOfTheLedger(t *testing.T) {
	s := newScene(t)
	f := s.follower()
	f.Trail = time.Minute
	for _, by := range []time.Duration{2 * time.Hour, -2 * time.Hour} {
		f.Ledger = behind{s.ledger, by}
		if n, _, err := f.Append(t.Context()); (n > 0) != (by < 0) || err != nil {
			t.Errorf("with the ledger %s behind %d were logged, %v", by, n, err)
		}
	}
}

func TestALogIsAboutOneTenant(t *testing.T) {
	s := newScene(t)
	s.append(t)
	f := s.follower()
	f.Tenant = "other"
	if n, _, err := f.Append(t.Context()); n != 0 || err == nil || !strings.Contains(err.Error(), `is about the tenant "acme"`) {
		t.Errorf("%d records of another tenant were logged, %v", n, err)
	}
}

func TestALedgerThatDoesNotKnowTheNewestRecordIsNotLogged(t *testing.T) {
	s := newScene(t)
	s.append(t)
	other, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "other.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	before := s.checkpoint(t).Size
	f := s.follower()
	f.Ledger = other
	if _, _, err := f.Append(t.Context()); !errors.Is(err, deed.ErrNotFound) {
		t.Errorf("another ledger: %v", err)
	}
	if after := s.checkpoint(t).Size; after != before {
		t.Errorf("the log grew from %d to %d", before, after)
	}
}

func TestManyEventsAreLoggedPageByPage(t *testing.T) {
	s := newScene(t)
	before := s.append(t)
	const more = 2500
	var events []deed.Event
	for n := range more {
		events = append(events, deed.Event{
			ID: deed.EventID(strings.Repeat("0", 3) + time.Unix(int64(n), 0).UTC().Format("20060102150405")), Tenant: "acme", OperationID: s.refund,
			Version: 2, At: time.Now(), Name: deed.EventName(deed.Replay), Actor: "support",
		})
	}
	if err := s.ledger.Append(t.Context(), events, deed.Durable); err != nil {
		t.Fatal(err)
	}
	if n := s.append(t); n != more {
		t.Errorf("%d were logged, want %d", n, more)
	}
	if got := s.verify(t); got.Size != before+more || got.Replays != 2+more || got.Found != 0 {
		t.Errorf("the report is %+v", got)
	}
}
