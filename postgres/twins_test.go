// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/storetest"
)

// likenesses puts up to ten operations of random standings that share a
// fingerprint, a matter or both with each other into both stores.
func likenesses(t *testing.T, random *rand.Rand, round int, stores []deed.Store) (ids []deed.OperationID, scope deed.Scope) {
	t.Helper()
	fingerprints := []deed.Fingerprint{deed.Fingerprint(fmt.Sprintf("f%d", round)), deed.Fingerprint(fmt.Sprintf("g%d", round))}
	matters := []deed.Matter{deed.Matter(fmt.Sprintf("m%d", round)), deed.Matter(fmt.Sprintf("n%d", round)), ""}
	statuses := []deed.Status{
		deed.StatusAwaitingApproval, deed.StatusExecuting, deed.StatusUncertain, deed.StatusCommitted, deed.StatusCommitted,
		deed.StatusFailed, deed.StatusDenied, deed.StatusCancelled, deed.StatusExpired,
	}
	// Few standings in one round make many of the same.
	statuses = statuses[random.IntN(len(statuses)):]
	for i := range random.IntN(11) {
		op := *newBenchOperation(int64(20*round + i)).settle.Put[0]
		op.Version, op.Status = 1, statuses[random.IntN(len(statuses))]
		op.Fingerprint, op.Matter = fingerprints[random.IntN(2)], matters[random.IntN(3)]
		switch random.IntN(4) {
		case 0:
			op.Tool = "payments/capture"
		case 1:
			op.DeliveredAt = op.SettledAt
		}
		if op.Status == deed.StatusExecuting {
			op.LeaseExpiresAt = op.SettledAt.Add(time.Hour)
		}
		if op.Status == deed.StatusUncertain && random.IntN(2) == 0 {
			op.Reason = deed.ReasonAbandoned
		}
		for _, store := range stores {
			next := op
			_, err := store.Transact(t.Context(), deed.Scope{Tenant: benchTenant, ID: op.ID}, func(deed.View) (deed.Change, error) {
				return deed.Change{Put: []*deed.Operation{&next}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		ids = append(ids, op.ID)
	}
	scope = deed.Scope{Tenant: benchTenant, Tool: "payments/refund"}
	scope.Fingerprints = fingerprints[:random.IntN(3)]
	scope.Matters = matters[:random.IntN(3)]
	if len(ids) > 0 && random.IntN(2) == 0 {
		scope.ID = ids[random.IntN(len(ids))]
	}
	return ids, scope
}

func TestTwinsAreThoseOfTheStoreInMemory(t *testing.T) {
	clock := storetest.NewClock(time.Now())
	ledger := open(t, cluster.Schema(t), postgres.Options{Clock: clock})
	memory := storetest.NewMemory(clock)
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 150 {
		_, scope := likenesses(t, random, round, []deed.Store{memory, ledger})
		want, err := memory.Load(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		read, err := ledger.Load(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		written, err := ledger.Transact(t.Context(), scope, func(deed.View) (deed.Change, error) { return deed.Change{}, nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []deed.View{read, written} {
			if !slices.Equal(idsOf(got.Twins), idsOf(want.Twins)) {
				t.Fatalf("round %d: twins %v, want %v, of %+v", round, idsOf(got.Twins), idsOf(want.Twins), scope)
			}
		}
	}
}

func idsOf(list []*deed.Operation) (ids []deed.OperationID) {
	for _, op := range list {
		ids = append(ids, op.ID)
	}
	return ids
}
