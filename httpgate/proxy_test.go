// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/httpgate"
	"github.com/deed-run/deed/sqlite"
	"github.com/deed-run/deed/storetest"
)

func TestAReplayIsTheStoredAnswerAndSaysSo(t *testing.T) { // E07
	r := overFixture(t, setup{})
	first := r.charge(order1, "Idempotency-Key", key)
	first.wants(t, 200, "Deed-Decision", "execute", "Deed-Status", "committed", "Idempotent-Replayed", "")
	again := r.charge(" {\"amount\": 1e2, \"order_id\": \"o1\"}\n", "Idempotency-Key", `"`+key+`"`)
	again.wants(t, 200, "Idempotent-Replayed", "true", "Deed-Decision", "replay", "Deed-Reason", "stored",
		"Deed-Operation", first.header.Get("Deed-Operation"), "Deed-Committed-At", first.header.Get("Deed-Committed-At"),
		"Content-Type", first.header.Get("Content-Type"))
	if again.body != first.body || first.header.Get("Deed-Operation") == "" {
		t.Errorf("the replay is %q, the first answer was %q", again.body, first.body)
	}
	r.effects(1, 1)
}

func TestAnotherPayloadOrPathUnderTheSameKeyIsAConflict(t *testing.T) { // K09
	r := overFixture(t, setup{routes: []httpgate.Route{
		{Method: "POST", Pattern: "/tools/{tool}"}, {Method: "PUT", Pattern: "/tools/{tool}"}, {Method: "POST", Pattern: "/other/*"},
	}})
	r.charge(order1, "Idempotency-Key", key).wants(t, 200)
	for name, g := range map[string]got{
		"other body":       r.charge(`{"order_id":"o1","amount":101}`, "Idempotency-Key", key),
		"other path":       r.send("POST", "/tools/pay.refund", order1, "Idempotency-Key", key),
		"other query":      r.send("POST", "/tools/pay.charge?live=1", order1, "Idempotency-Key", key),
		"other method":     r.send("PUT", "/tools/pay.charge", order1, "Idempotency-Key", key),
		"other route":      r.send("POST", "/other/pay.charge", order1, "Idempotency-Key", key),
		"no route":         r.send("POST", "/elsewhere", order1, "Idempotency-Key", key),
		"other media type": r.charge(order1, "Idempotency-Key", key, "Content-Type", "text/plain"),
	} {
		t.Run(name, func(t *testing.T) {
			g.wants(t, 422, "Content-Type", "application/problem+json", "Deed-Decision", "conflict")
			if g.member(t, "title") != "Idempotency-Key is already used" || g.member(t, "existing_remote_id") == nil {
				t.Error(g.body)
			}
			if strings.Contains(g.body, "amount") {
				t.Errorf("stored arguments are shown: %s", g.body)
			}
		})
	}
	r.effects(1, 1)
}

func TestAnotherActorWithTheKeyLearnsNothing(t *testing.T) {
	r := overFixture(t, setup{})
	id := r.charge(order1, "Idempotency-Key", key).header.Get("Deed-Operation")
	g := r.charge(order1, "Idempotency-Key", key, "Authorization", "Bearer stranger")
	g.wants(t, 403, "Deed-Reason", "not_yours", "Deed-Operation", "")
	if strings.Contains(g.body, id) {
		t.Error(g.body)
	}
	r.charge(order1, "Idempotency-Key", key, "Authorization", "Bearer nobody").wants(t, 401)
	r.effects(1, 1)
}

func TestFiftyCallersOfOneKeyAreOneEffect(t *testing.T) { // E10, D01
	for name, open := range map[string]func(t *testing.T) deed.Store{
		"in memory": func(*testing.T) deed.Store { return nil },
		"on SQLite": func(t *testing.T) deed.Store {
			ledger, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "deed.db"), sqlite.Options{})
			must(t, err)
			t.Cleanup(func() { must(t, ledger.Close()) })
			return ledger
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := overFixture(t, setup{store: open(t)})
			r.fault(provider.Fault{Fault: provider.Hang, Tool: "pay.charge", Params: provider.FaultParams{MS: 50}, Times: 1})
			counts := race(r, 50, "Idempotency-Key", key)
			if counts["execute"] != 1 || counts["execute"]+counts["replay"]+counts["in_progress"] != 50 {
				t.Errorf("decisions: %v", counts)
			}
			r.effects(1, 1)
		})
	}
}

func TestADuplicatedHopIsOneEffect(t *testing.T) { // B06
	r := overFixture(t, setup{})
	counts := race(r, 2, "Idempotency-Key", key)
	if counts["execute"] != 1 || counts["replay"] != 1 {
		t.Errorf("decisions: %v", counts)
	}
	r.effects(1, 1)
}

func race(r *rig, callers int, header ...string) map[string]int {
	var all sync.WaitGroup
	var mu sync.Mutex
	counts := map[string]int{}
	for range callers {
		all.Go(func() {
			g, err := r.try("POST", "/tools/pay.charge", order1, header...)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				counts[err.Error()]++
			} else {
				counts[g.header.Get("Deed-Decision")]++
			}
		})
	}
	all.Wait()
	return counts
}

func TestKeylessRepeatsWithinTheWindowAreOneEffect(t *testing.T) { // D08
	clock := storetest.NewClock(time.Date(2026, 9, 8, 12, 0, 0, 0, time.UTC))
	r := overFixture(t, setup{clock: clock, routes: charge(func(route *httpgate.Route) {
		route.Key.Need, route.Twins = deed.NeedOptional, 10*time.Second
	})})
	counts := race(r, 2)
	if counts["execute"] != 1 || counts["replay"] != 1 {
		t.Errorf("decisions: %v", counts)
	}
	clock.Advance(9 * time.Second)
	r.charge(order1).wants(t, 200, "Deed-Reason", "twin_recent", "Idempotent-Replayed", "true")
	r.effects(1, 1)
	clock.Advance(2 * time.Second)
	r.charge(order1).wants(t, 200, "Deed-Decision", "execute")
	r.effects(2, 2)
}

func TestWhatMayHaveHappenedIsNeverSentAgain(t *testing.T) { // A01 over HTTP
	for _, kind := range []provider.FaultKind{provider.CommitDrop, provider.Commit5xx, provider.Commit404, provider.HalfJSON, provider.Garbage} {
		t.Run(string(kind), func(t *testing.T) {
			r := overFixture(t, setup{})
			r.fault(provider.Fault{Fault: kind, Times: 1})
			r.charge(order1, "Idempotency-Key", key).wants(t, 409, "Deed-Decision", "execute", "Deed-Status", "uncertain")
			g := r.charge(order1, "Idempotency-Key", key)
			g.wants(t, 409, "Deed-Decision", "uncertain", "Deed-Reason", "outcome_unknown")
			if kind, _ := g.member(t, "type").(string); !strings.HasSuffix(kind, "#outcome-uncertain") {
				t.Error(g.body)
			}
			r.charge(order1, "Idempotency-Key", other).wants(t, 409, "Deed-Reason", "twin_unresolved")
			r.effects(1, 1)
		})
	}
}

func TestADefiniteRefusalIsPassedOnAndReplayed(t *testing.T) {
	r := overFixture(t, setup{})
	r.fault(provider.Fault{Fault: provider.Reject4xx, Times: 1, Params: provider.FaultParams{Status: 422, Text: "no such order"}})
	first := r.charge(order1, "Idempotency-Key", key)
	first.wants(t, 422, "Deed-Status", "failed", "Content-Type", "application/json")
	again := r.charge(order1, "Idempotency-Key", key)
	again.wants(t, 422, "Deed-Decision", "failed", "Idempotent-Replayed", "true")
	if first.body != again.body || !strings.Contains(first.body, "no such order") {
		t.Errorf("first %q, then %q", first.body, again.body)
	}
	r.effects(0, 1)
}

func TestABusyRefusalMayBeRepeatedAndTheSuccessIsWhatIsKept(t *testing.T) {
	clock := storetest.NewClock(time.Date(2026, 9, 8, 12, 0, 0, 0, time.UTC))
	r := overFixture(t, setup{clock: clock, routes: charge(func(route *httpgate.Route) { route.Busy = []int{503} })})
	r.fault(provider.Fault{Fault: provider.RejectPrecommit, Times: 1, Params: provider.FaultParams{RetryAfter: 3}})
	r.charge(order1, "Idempotency-Key", key).wants(t, 503, "Retry-After", "3", "Deed-Status", "failed")
	r.charge(order1, "Idempotency-Key", key).wants(t, 503, "Retry-After", "3", "Deed-Reason", "retry_later")
	clock.Advance(4 * time.Second)
	first := r.charge(order1, "Idempotency-Key", key)
	first.wants(t, 200, "Deed-Decision", "execute")
	again := r.charge(order1, "Idempotency-Key", key)
	again.wants(t, 200, "Deed-Decision", "replay")
	if again.body != first.body {
		t.Errorf("the replay is %q, the answer was %q", again.body, first.body)
	}
	r.effects(1, 2)
}

func TestAnUpstreamThatCannotBeReachedIsUnsent(t *testing.T) {
	clock := storetest.NewClock(time.Date(2026, 9, 8, 12, 0, 0, 0, time.UTC))
	r := overFixture(t, setup{clock: clock})
	r.fault(provider.Fault{Fault: provider.RefuseConn})
	g := r.charge(order1, "Idempotency-Key", key)
	g.wants(t, 502, "Deed-Status", "failed", "Deed-Reason", "not_sent", "Retry-After", "1")
	r.fixture.Release("")
	// Too early, it is what clients repeat by themselves, as it was at first.
	early := r.charge(order1, "Idempotency-Key", key)
	early.wants(t, 502, "Deed-Decision", "failed", "Deed-Reason", "retry_later", "Retry-After", "1")
	if !strings.Contains(early.body, "nothing of it left") {
		t.Errorf("it says %s", early.body)
	}
	clock.Advance(2 * time.Second)
	r.charge(order1, "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "execute")
	r.effects(1, 1)
}
