// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// tellingStore notes what it is asked for.
type tellingStore struct {
	deed.Store
	mu    sync.Mutex
	calls []string
}

func (s *tellingStore) told(name string) {
	s.mu.Lock()
	s.calls = append(s.calls, name)
	s.mu.Unlock()
}

func (s *tellingStore) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(s.calls, " ")
	s.calls = nil
	return text
}

func (s *tellingStore) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	s.told("transact")
	return s.Store.Transact(ctx, scope, change)
}

func (s *tellingStore) Load(ctx context.Context, scope deed.Scope) (deed.View, error) {
	s.told("load")
	return s.Store.Load(ctx, scope)
}

func (s *tellingStore) Events(ctx context.Context, query deed.EventQuery) ([]deed.Event, error) {
	s.told("events")
	return s.Store.Events(ctx, query)
}

// Only a record that is there and may be begun is asked for what ran beside it.
func TestWhatRanBesideIsAskedForOnlyWhereARecordMayBegin(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) { rule.Lease = time.Minute })
	store := &tellingStore{Store: b.store}
	b.store = store
	b.rt = b.process()
	claim := func(call deed.Call, want string) *deed.Grant {
		t.Helper()
		call.ManualLease = true
		store.take()
		_, grant := b.claim(b.rt, call)
		if got := store.take(); got != want {
			t.Errorf("it takes %q, want %q", got, want)
		}
		return grant
	}
	keys := []deed.Carrier{callID("session-1/toolu_1"), model("refund:order-1042:first")}
	claim(keyed("0", runtime("refund:order-1042:zero")), "load transact") // activates the rule
	grant := claim(keyed("1", keys...), "load transact")
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnsent, Reason: deed.ReasonNotSent})
	b.clock.Advance(time.Minute)
	grant = claim(keyed("1", keys...), "load events load transact")
	b.clock.Advance(2 * time.Minute)
	claim(keyed("1", keys...), "load load transact") // the lease ran out
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess})
	claim(keyed("1", keys...), "load load")
	claim(keyed("1", callID("session-1/toolu_1"), model("refund:order-1042:again")), "load load transact")
	claim(keyed("1", callID("session-1/toolu_2"), model("refund:order-1042:first")), "load transact")
}

// busyStore lets something happen whenever a history has been read.
type busyStore struct {
	deed.Store
	then func()
}

func (s *busyStore) Events(ctx context.Context, query deed.EventQuery) ([]deed.Event, error) {
	events, err := s.Store.Events(ctx, query)
	if query.Name == deed.EventObserved {
		s.then()
	}
	return events, err
}

// Calls that never cease to run beside a record keep nobody from deciding on it.
func TestDecisionsEndWhileCallsAreObserved(t *testing.T) {
	for name, outcome := range map[string]error{"lost": errLost, "unsent": errUnsent} {
		t.Run(name, func(t *testing.T) {
			b := newBesideRig(t, approving(nil))
			op := b.waiting(deed.StatusAwaitingApproval)
			b.store = &busyStore{b.store, func() { b.looksOn(refund("12"), outcome) }}
			b.rt = b.process()
			_, err := b.rt.Approve(context.Background(), person("ada"), op.ID, deed.Consent{Digest: op.Approval.Digest})
			if outcome == errLost {
				b.refusedConsent(err, deed.ConsentObserved, "what came of it is not known")
			} else if !errors.Is(err, deed.ErrUnavailable) {
				t.Errorf("approving is answered with %v", err)
			}
			if _, err := b.rt.Deny(context.Background(), person("ada"), op.ID, deed.Consent{Digest: op.Approval.Digest, Reason: "no"}); err != nil {
				t.Error(err)
			}
		})
	}
}
