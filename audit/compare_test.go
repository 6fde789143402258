// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/audit"
)

// listed is a ledger that is nothing but a list of events.
type listed []deed.Event

func (l listed) Events(_ context.Context, q deed.EventQuery) ([]deed.Event, error) {
	from := 0
	if q.After != "" {
		at := slices.IndexFunc(l, func(e deed.Event) bool { return e.ID == q.After })
		if at < 0 {
			return nil, deed.ErrNotFound
		}
		from = at + 1
	}
	return l[from:min(len(l), from+q.Limit)], nil
}

func (listed) Load(context.Context, deed.Scope) (deed.View, error) { return deed.View{}, nil }

func happened(n int) deed.Event {
	return deed.Event{
		ID: deed.EventID(fmt.Sprintf("ev_%026d", n)), Tenant: "acme", Version: 1, Name: deed.EventBegun, Actor: "support",
		At: time.Date(2026, 11, 1, 12, 0, n, 0, time.UTC),
	}
}

// logOf makes a log of the events.
func logOf(dir string, events listed) (*audit.Log, error) {
	private, verifier, err := audit.NewKey("ledger.example/acme")
	if err != nil {
		return nil, err
	}
	if _, err := audit.Create(dir, private); err != nil {
		return nil, err
	}
	if _, _, err := (audit.Follower{Ledger: events, Tenant: "acme", Dir: dir, Key: private}).Append(context.Background()); err != nil {
		return nil, err
	}
	return audit.Open(dir, verifier)
}

// drawLog draws a list of at least so many events, and makes a log of them.
func drawLog(t *rapid.T, root string, least int) (listed, *audit.Log) {
	dir, err := os.MkdirTemp(root, "log")
	if err != nil {
		t.Fatal(err)
	}
	var events listed
	for n := range rapid.IntRange(least, 40).Draw(t, "events") {
		events = append(events, happened(n))
	}
	log, err := logOf(filepath.Join(dir, "log"), events)
	if err != nil {
		t.Fatal(err)
	}
	return events, log
}

// Whatever was taken out, put in, put in again or changed is found under its own
// name, wherever it stands, and nothing else is.
func TestEveryDifferenceIsFoundOnce(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		events, log := drawLog(t, root, 0)
		var now listed
		want := map[deed.EventID]audit.FindingKind{}
		var put []deed.EventID
		last := -1 // the place of the last event that is in both
		for n := 0; n <= len(events); n++ {
			for range rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(t, "put in") {
				e := happened(1000 + len(now))
				put = append(put, e.ID)
				now = append(now, e)
			}
			if n == len(events) {
				break
			}
			e := events[n]
			switch rapid.SampledFrom([]string{"", "", "", "", "taken out", "changed", "twice"}).Draw(t, "what") {
			case "taken out":
				want[e.ID] = audit.EventGone
				continue
			case "changed":
				e.Actor = "somebody else"
				want[e.ID] = audit.EventChanged
			case "twice":
				now = append(now, e)
				want[e.ID] = audit.EventRepeated
			}
			last = len(now)
			now = append(now, e)
		}
		waiting := int64(0)
		for _, id := range put {
			if slices.IndexFunc(now, func(e deed.Event) bool { return e.ID == id }) < last {
				want[id] = audit.EventUnlogged
			} else {
				waiting++
			}
		}
		report, err := log.Verify(context.Background(), now, "acme")
		if err != nil {
			t.Fatal(err)
		}
		got := map[deed.EventID]audit.FindingKind{}
		for _, f := range report.Findings {
			if _, twice := got[f.Event]; twice {
				t.Errorf("%s is found twice: %+v", f.Event, report.Findings)
			}
			got[f.Event] = f.Kind
		}
		if diff := cmp.Diff(want, got); diff != "" || report.Waiting != waiting {
			t.Errorf("%d wait, want %d; the findings (- want, + got):\n%s", report.Waiting, waiting, diff)
		}
	})
}

func TestEveryEventThatWasMovedAloneIsFoundAlone(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		events, log := drawLog(t, root, 2)
		from, to := rapid.IntRange(0, len(events)-1).Draw(t, "from"), rapid.IntRange(0, len(events)-1).Draw(t, "to")
		moved := events[from]
		now := slices.Insert(slices.Delete(slices.Clone(events), from, from+1), to, moved)
		report, err := log.Verify(context.Background(), now, "acme")
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case from == to && report.Found == 0:
		case from-to == 1 || to-from == 1: // which of two neighbours was moved, nobody can say
			if report.Found != 1 || report.Findings[0].Kind != audit.EventMoved {
				t.Errorf("the report is %+v", report)
			}
		case report.Found != 1 || report.Findings[0].Kind != audit.EventMoved || report.Findings[0].Event != moved.ID:
			t.Errorf("%s was moved from %d to %d, and the report is %+v", moved.ID, from, to, report)
		}
	})
}

// failing is a ledger that cannot be read any more after so many events.
type failing struct {
	listed
	after int
}

func (f failing) Events(ctx context.Context, q deed.EventQuery) ([]deed.Event, error) {
	if q.After == f.listed[f.after].ID {
		return nil, errors.New("the connection was lost")
	}
	return f.listed.Events(ctx, q)
}

func TestALedgerThatCannotBeReadToItsEndIsNoFinding(t *testing.T) {
	var events listed
	for n := range 1500 {
		events = append(events, happened(n))
	}
	log, err := logOf(filepath.Join(t.TempDir(), "log"), events)
	if err != nil {
		t.Fatal(err)
	}
	if report, err := log.Verify(t.Context(), failing{events, 999}, "acme"); err == nil || report.Found != 0 {
		t.Errorf("the report is %+v, %v", report, err)
	}
}

// BenchmarkVerify compares a log with a ledger in memory: time and kept memory are
// those of the verification.
func BenchmarkVerify(b *testing.B) {
	var events listed
	for n := range 100_000 {
		events = append(events, happened(n))
	}
	log, err := logOf(filepath.Join(b.TempDir(), "log"), events)
	if err != nil {
		b.Fatal(err)
	}
	ledger := &paged{listed: events}
	for b.Loop() {
		ledger.at, ledger.most = 0, 0
		report, err := log.Verify(b.Context(), ledger, "acme")
		if err != nil || report.Found != 0 {
			b.Fatal(report, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(events)), "ns/record")
	b.ReportMetric(float64(ledger.most)/float64(len(events)), "B-kept/record")
}

// paged gives its events in their order and looks, near their end, how much memory is in
// use beside them.
type paged struct {
	listed
	at    int
	start uint64
	most  uint64
}

func (p *paged) Events(_ context.Context, q deed.EventQuery) ([]deed.Event, error) {
	if p.at == 0 {
		p.start = inUse()
	}
	from := p.at
	p.at = min(len(p.listed), p.at+q.Limit)
	if p.at == len(p.listed) {
		if now := inUse(); now > p.start {
			p.most = max(p.most, now-p.start)
		}
	}
	return p.listed[from:p.at], nil
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
