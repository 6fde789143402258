// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

// closedStore is a ledger that its program closes too early.
type closedStore struct {
	deed.Store
	fails atomic.Pointer[error]
	// asked tells of every write that failed.
	asked chan struct{}
}

func (s *closedStore) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	if err := s.fails.Load(); err != nil {
		select {
		case s.asked <- struct{}{}:
		default:
		}
		return deed.View{}, *err
	}
	return s.Store.Transact(ctx, scope, change)
}

func TestAnOutcomeThatAClosedStoreCannotTakeIsNamedWhenClosing(t *testing.T) {
	gone := fmt.Errorf("the ledger is %w", deed.ErrClosed)
	away := fmt.Errorf("%w: connection refused", deed.ErrUnavailable)
	for _, c := range []struct {
		name string
		// first is what the store says when the function has returned.
		first error
	}{
		{"it is closed when the outcome comes", gone},
		{"it is away, and closed later", away},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := storetest.NewClock(noon)
			store := &closedStore{Store: storetest.NewMemory(clock), asked: make(chan struct{}, 1)}
			rt, err := deed.New(deed.Options{Store: store, Clock: clock, Policy: deed.FixedPolicy{}})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := rt.Do(context.Background(), refund("12"), func(context.Context, deed.Attempt) (deed.Receipt, error) {
				store.fails.Store(&c.first)
				return deed.Receipt{RemoteID: "re_1"}, nil
			})
			if err != nil || answer.Done() || answer.Decision != deed.Uncertain || !answer.Unrecorded {
				t.Errorf("%s, unrecorded %v, %v", answer.Decision, answer.Unrecorded, err)
			}
			<-store.asked
			store.fails.Store(&gone)
			err = rt.Close(context.Background())
			if err == nil || !strings.Contains(err.Error(), string(answer.Operation.ID)) || !strings.Contains(err.Error(), "re_1") {
				t.Errorf("closing says %v", err)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Error("closing waited for its time to end")
			}
		})
	}
}
