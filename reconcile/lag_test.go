// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/reconcile"
	"github.com/deed-run/deed/storetest"
)

// provider applies what was sent up to processing later, and shows it in its
// index up to lag after that.
type provider struct {
	clock   *storetest.Clock
	objects []object
}

type object struct {
	marker, id string
	applied    time.Time
	shown      time.Time
}

// take applies a request that leaves now.
func (p *provider) take(marker string, processing, lag time.Duration) {
	applied := p.clock.Now().Add(processing)
	p.objects = append(p.objects, object{marker, fmt.Sprintf("o_%d", len(p.objects)+1), applied, applied.Add(lag)})
}

// Fetch reads the index as it is now.
func (p *provider) Fetch(_ context.Context, q deed.Inquest, _ string) ([]deed.Match, string, error) {
	var hits []deed.Match
	for _, o := range p.objects {
		if !p.clock.Now().Before(o.shown) && o.marker == q.Marks.Marker {
			hits = append(hits, deed.Match{RemoteID: o.id, Token: o.marker})
		}
	}
	return hits, "", nil
}

// effects counts what the provider did for one marker.
func (p *provider) effects(marker string) int {
	n := 0
	for _, o := range p.objects {
		if o.marker == marker {
			n++
		}
	}
	return n
}

var agent = deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead, deed.RightResolve}}

const (
	processing = 2 * time.Minute
	lag        = 3 * time.Minute
)

func lagging() deed.Rule {
	rule := deed.DefaultRule("tickets/create")
	rule.MaxProcessing, rule.ReadLag, rule.GiveUp = processing, lag, 2*time.Hour
	rule.Retention = 100 * time.Hour
	rule.Repeat, rule.Rate = deed.Limit{N: -1, Per: time.Minute}, deed.Limit{N: -1, Per: time.Minute}
	rule.Planting = &deed.Planting{Plant: func(arguments []byte, marks deed.Marks) ([]byte, error) {
		return []byte(strings.Replace(string(arguments), "{", `{"mark":"`+marks.Marker+`",`, 1)), nil
	}}
	return rule
}

// A search whose index lags says absent early and often; however calls,
// look-ups, losses and restarts interleave, nothing is ever taken for not
// applied that was, and nothing happens twice.
func TestALaggingIndexNeverMakesAFalseFailure(t *testing.T) {
	absences, finds := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		clock := storetest.NewClock(time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC))
		store := storetest.NewMemory(clock)
		p := &provider{clock: clock}
		start := func() *deed.Runtime {
			rt, err := deed.New(deed.Options{
				Store: store, Clock: clock, Policy: deed.FixedPolicy{"tickets/create": lagging()},
				Reconciler: reconcile.Ladder{reconcile.MarkerSearch{From: p, Lag: lag}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return rt
		}
		rt := start()
		defer func() { _ = rt.Close(ctx) }()
		var id deed.OperationID
		var marker string
		steps := rapid.IntRange(5, 60).Draw(t, "steps")
		// In the end there is time and looking up, so that most come to an end.
		for i := range steps + 16 {
			step := 3 + i%2*5
			if i < steps {
				step = rapid.IntRange(0, 9).Draw(t, "step")
			}
			switch step {
			case 0, 1:
				_, grant, err := rt.Claim(ctx, deed.Call{Principal: agent, Tool: "tickets/create", Key: deed.OperationKey("ticket:1042:first"), Arguments: []byte(`{"title":"broken"}`)})
				if err != nil {
					t.Fatal(err)
				}
				if grant == nil {
					break
				}
				id, marker = grant.Operation, grant.Marks.Marker
				clock.Advance(time.Duration(rapid.IntRange(0, 29).Draw(t, "dawdles")) * time.Second)
				if rapid.Bool().Draw(t, "request arrives") {
					p.take(marker, time.Duration(rapid.IntRange(0, 120).Draw(t, "works"))*time.Second, time.Duration(rapid.IntRange(0, 180).Draw(t, "lags"))*time.Second)
				}
				if _, err := rt.Settle(ctx, grant, deed.Outcome{Kind: deed.OutcomeUnknown}); err != nil {
					t.Fatal(err)
				}
			case 2:
				_ = rt.Close(ctx)
				rt = start()
			case 3, 4, 5, 6:
				due, err := rt.Due(ctx, 10)
				if err != nil {
					t.Fatal(err)
				}
				if id != "" {
					due = append(due, deed.Due{Tenant: "acme", Operation: id})
				}
				for _, one := range due {
					_, _ = rt.ReconcileDue(ctx, one)
				}
			case 7:
				if id != "" {
					_, _ = rt.Reconcile(ctx, agent, id)
				}
			default:
				clock.Advance(time.Duration(rapid.IntRange(1, 240).Draw(t, "passes")) * time.Second)
			}
			if id == "" {
				continue
			}
			op, err := rt.Get(ctx, agent, id)
			if err != nil {
				t.Fatal(err)
			}
			n := p.effects(marker)
			switch {
			case n > 1:
				t.Fatalf("%d effects", n)
			case op.Status == deed.StatusFailed && n > 0:
				t.Fatal("failed, and the provider did it")
			case op.Status == deed.StatusCommitted && n == 0:
				t.Fatal("committed, and the provider did nothing")
			}
			switch op.Status {
			case deed.StatusFailed:
				absences++
			case deed.StatusCommitted:
				finds++
			}
		}
	})
	if absences == 0 || finds == 0 {
		t.Errorf("no schedule came to anything: %d absences, %d finds", absences, finds)
	}
}
