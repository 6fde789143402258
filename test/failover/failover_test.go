// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package failover_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/test/pgcluster"
)

const callers = 12

// number reads how often something is done.
func number(t *testing.T, variable string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a number", variable, text)
	}
	return n
}

// pair is a primary and a replica without which it acknowledges nothing.
func pair(t *testing.T) (first, second *pgcluster.Cluster) {
	t.Helper()
	first, err := pgcluster.Start(pgcluster.Memory())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := first.Stop(); err != nil {
			t.Error(err)
		}
	})
	if _, err := first.Database(t.Context(), "ledger"); err != nil {
		t.Fatal(err)
	}
	if second, err = first.Replica(pgcluster.Memory(), "second"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := first.AwaitSync(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	return first, second
}

// whicheverWrites leads to the one of the clusters that takes writes.
func whicheverWrites(clusters ...*pgcluster.Cluster) string {
	return pgcluster.Address(clusters, "ledger", "target_session_attrs", "read-write", "connect_timeout", "2")
}

func TestAFailoverDoublesNothingAndLosesNoReceipt(t *testing.T) {
	for n := range number(t, "DEED_FAILOVERS", 1) {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			first, second := pair(t)
			address := whicheverWrites(first, second)
			l := newLoad(t, address, address)
			defer l.closed(t)
			l.start(t.Context(), callers)
			defer l.end()
			l.await(t, 100+rand.Int64N(200))
			began := time.Now()
			if err := errors.Join(first.Kill(), second.Promote()); err != nil {
				t.Fatal(err)
			}
			promoted := time.Since(began)
			l.await(t, 100)
			t.Logf("promoted after %s; 100 more receipts after %s", promoted.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
			// The old primary comes back as the replica that it now is.
			if err := first.Follow(second, "first"); err != nil {
				t.Fatal(err)
			}
			if err := second.AwaitSync(t.Context(), "first"); err != nil {
				t.Fatal(err)
			}
			l.await(t, 100)
			l.end()
			l.check(t)
		})
	}
}

// Nobody fences the old primary here: it comes back as if nothing had been,
// and callers find it first.
func TestAnOldPrimaryThatComesBackUnfencedAcknowledgesNothing(t *testing.T) {
	first, second := pair(t)
	before := newLoad(t, first.Address("ledger"))
	// What it still has to say to the old primary is never acknowledged.
	defer func() { _ = before.close() }()
	before.start(t.Context(), 4)
	before.await(t, 50)
	before.end()
	if err := errors.Join(first.Kill(), second.Promote(), first.Up()); err != nil {
		t.Fatal(err)
	}
	after := newLoad(t, second.Address("ledger"))
	after.provider = before.provider
	defer after.closed(t)
	var calls sync.WaitGroup
	for n := range 8 {
		key := fmt.Sprintf("payment-of-the-split-%d", n)
		calls.Go(func() {
			if answer := before.call(n, key); answer.Decision != deed.Denied || answer.Reason != deed.ReasonStoreUnavailable {
				t.Errorf("the old primary let %s through: %s %s", key, answer.Decision, answer.Reason)
			}
			if answer := after.call(n, key); answer.Decision != deed.Execute {
				t.Errorf("the new primary answered %s with %s %s", key, answer.Decision, answer.Reason)
			}
		})
	}
	calls.Wait()
	after.check(t)
	for key, id := range before.acknowledged {
		if answer := after.call(0, key); answer.Decision != deed.Replay || string(answer.Result) != id {
			t.Errorf("%s was handed the receipt %s and is now answered %s %s %q", key, id, answer.Decision, answer.Reason, answer.Result)
		}
	}
}

func TestConnectionsCutDuringCommitDoubleNothingAndLoseNoReceipt(t *testing.T) {
	cluster, err := pgcluster.Start(pgcluster.Memory())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	if _, err := cluster.Database(t.Context(), "ledger"); err != nil {
		t.Fatal(err)
	}
	var commits atomic.Int64
	cutter, err := cluster.NewCutter(func() pgcluster.Cut {
		if commits.Add(1)%3 != 0 {
			return pgcluster.CutNone
		}
		return pgcluster.CutBefore + pgcluster.Cut(rand.IntN(3))
	})
	if err != nil {
		t.Fatal(err)
	}
	through := cluster.Address("ledger", cutter.Parameters()...)
	l := newLoad(t, through, through)
	l.start(t.Context(), callers)
	limit := number(t, "DEED_CUTS", 30)
	for cutter.Cuts.Load() < limit {
		l.await(t, 1)
	}
	l.end()
	l.check(t)
	l.closed(t)
	t.Logf("%d connections cut during COMMIT", cutter.Cuts.Load())
	if err := cutter.Stop(); err != nil {
		t.Error(err)
	}
}
