// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package dotx_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

func TestTheEffectAndItsReceiptAreCommittedTogether(t *testing.T) {
	database := newDatabase(t)
	b := newBank(t, database, rule())
	answer, err := b.transfer(t.Context(), "first", 12, nil)
	want(t, answer, err, deed.Execute, `{"booked":12}`)
	if answer.Operation.Status != deed.StatusCommitted || answer.Operation.Receipt().RemoteID != "first" {
		t.Errorf("the operation is %s with %+v", answer.Operation.Status, answer.Operation.Receipt())
	}
	again, err := b.transfer(t.Context(), "first", 12, nil)
	want(t, again, err, deed.Replay, `{"booked":12}`)
	other, err := b.transfer(t.Context(), "first", 13, nil)
	want(t, other, err, deed.Conflict, "")
	plain, err := b.runtime.Do(t.Context(), call("first", 12), func(context.Context, deed.Attempt) (deed.Receipt, error) {
		t.Error("the effect of a committed operation ran again")
		return deed.Receipt{}, nil
	})
	want(t, plain, err, deed.Replay, `{"booked":12}`)
	if n := transfers(t, database, "first"); n != 1 {
		t.Errorf("%d transfers", n)
	}
	events, err := b.ledger.Events(t.Context(), deed.EventQuery{Tenant: "acme", Operation: answer.Operation.ID})
	if err != nil || len(events) < 2 || events[0].Name != deed.EventBegun || events[1].Name != deed.EventSucceeded {
		t.Errorf("the events are %+v, %v", events, err)
	}
}

func TestWhatIsRolledBackNeverHappened(t *testing.T) {
	database := newDatabase(t)
	b := newBank(t, database, rule())
	broke := errors.New("not enough money")
	for name, fails := range map[string]func() error{
		"an error of the effect":         func() error { return broke },
		"a refusal":                      func() error { return deed.Refused(broke) },
		"an error of the database":       func() error { return cluster.Exec(t.Context(), database, `SELECT 1/0`) },
		"a connection that is lost":      func() error { return killBackends(t, database) },
		"a panic":                        func() error { panic(broke) },
		"a caller that left before that": nil,
	} {
		t.Run(name, func(t *testing.T) {
			key := fmt.Sprintf("key-of-%d", len(name))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if fails == nil {
				fails = func() error { cancel(); return nil }
			}
			func() {
				defer func() { _ = recover() }()
				if answer, err := b.transfer(ctx, key, 1, fails); err == nil {
					t.Errorf("answered %s %s", answer.Decision, answer.Reason)
				}
			}()
			if n := transfers(t, database, key); n != 0 {
				t.Errorf("%d transfers", n)
			}
			if op := b.record(t, key); op != nil {
				t.Errorf("there is a record: %+v", op)
			}
			answer, err := b.transfer(t.Context(), key, 1, nil)
			want(t, answer, err, deed.Execute, `{"booked":1}`)
		})
	}
}

func killBackends(t *testing.T, database string) error {
	t.Helper()
	return cluster.Exec(t.Context(), "postgres", `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = '`+database+`'`)
}

func TestOfManyDuplicatesOneHasTheEffect(t *testing.T) {
	database := newDatabase(t)
	banks := []*bank{newBank(t, database, rule()), newBank(t, database, rule())}
	for _, key := range []string{"one", "two", "three"} {
		var executed, replayed atomic.Int64
		var callers sync.WaitGroup
		for i := range 16 {
			callers.Go(func() {
				for {
					answer, err := banks[i%2].transfer(t.Context(), key, 5, nil)
					switch {
					case err != nil:
						t.Error(err)
					case answer.Decision == deed.Execute:
						executed.Add(1)
					case answer.Decision == deed.Replay:
						replayed.Add(1)
					case answer.Reason == deed.ReasonStoreUnavailable:
						continue // it waited too long on a busy machine: nothing was done
					default:
						t.Errorf("answered %s %s %s", answer.Decision, answer.Reason, answer.Text)
					}
					return
				}
			})
		}
		callers.Wait()
		if executed.Load() != 1 || replayed.Load() != 15 || transfers(t, database, key) != 1 {
			t.Errorf("%s: %d executed, %d replayed, %d transfers", key, executed.Load(), replayed.Load(), transfers(t, database, key))
		}
	}
}

func TestAnEqualEffectUnderAnotherKeyIsATwin(t *testing.T) {
	database := newDatabase(t)
	b := newBank(t, database, rule())
	first, err := b.transfer(t.Context(), "original", 9, nil)
	want(t, first, err, deed.Execute, `{"booked":9}`)
	twin := call("original", 9)
	twin.Key = deed.OperationKey("another-key-of-a-runtime")
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := deed.DoTx(t.Context(), b.runtime, b.ledger.InTx(tx), twin, func(context.Context, deed.Attempt) (deed.Receipt, error) {
		return deed.Receipt{RemoteSystem: "accounts", RemoteID: "again"}, nil
	})
	if err != nil || answer.SimilarTo != first.Operation.ID {
		t.Errorf("answered %s similar to %q, %v; want %s", answer.Decision, answer.SimilarTo, err, first.Operation.ID)
	}
}

func TestAProposalOutlivesTheTransaction(t *testing.T) {
	database := newDatabase(t)
	r := rule()
	r.NeedsApproval = func([]byte, deed.Principal) bool { return true }
	b := newBank(t, database, r)
	answer, err := b.transfer(t.Context(), "large", 1000, nil)
	want(t, answer, err, deed.AwaitingApproval, "")
	if op := b.record(t, "large"); op == nil || op.Status != deed.StatusAwaitingApproval {
		t.Errorf("the record is %+v", op)
	}
	if n := transfers(t, database, "large"); n != 0 {
		t.Errorf("%d transfers", n)
	}
}

func TestATransactionOnAnotherDatabaseIsRefused(t *testing.T) {
	here, elsewhere := newDatabase(t), newDatabase(t)
	newBank(t, elsewhere, rule()) // it has a ledger of its own
	b, err := openBank(t.Context(), cluster.Address(elsewhere), cluster.Address(here), rule())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}()
	answer, err := b.transfer(t.Context(), "misplaced", 3, nil)
	if err != nil || answer.Decision != deed.Denied || answer.Reason != deed.ReasonStoreUnavailable {
		t.Errorf("answered %s %s, %v", answer.Decision, answer.Reason, err)
	}
	if n := transfers(t, elsewhere, "misplaced"); n != 0 {
		t.Errorf("%d transfers", n)
	}
}

func TestATransactionThatCannotSeeWhatItWaitedForIsRefused(t *testing.T) {
	database := newDatabase(t)
	b := newBank(t, database, rule())
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		tx, err := b.pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := deed.DoTx(t.Context(), b.runtime, b.ledger.InTx(tx), call("isolation", 1), func(context.Context, deed.Attempt) (deed.Receipt, error) {
			t.Errorf("at %s: the effect began", level)
			return deed.Receipt{}, nil
		})
		if err == nil && (answer.Decision != deed.Denied || answer.Reason != deed.ReasonStoreUnavailable) {
			t.Errorf("at %s: answered %s %s", level, answer.Decision, answer.Reason)
		}
	}
}

func TestTheTransactionsSettingsStay(t *testing.T) {
	database := newDatabase(t)
	b := newBank(t, database, rule())
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SET LOCAL lock_timeout = '17s'; SET LOCAL synchronous_commit = off; SET LOCAL enable_seqscan = on`); err != nil {
		t.Fatal(err)
	}
	var lock, commit, seqscan string
	_, err = deed.DoTx(t.Context(), b.runtime, b.ledger.InTx(tx), call("settings", 1), func(ctx context.Context, _ deed.Attempt) (deed.Receipt, error) {
		err := tx.QueryRow(ctx, `SELECT current_setting('lock_timeout'), current_setting('synchronous_commit'), current_setting('enable_seqscan')`).Scan(&lock, &commit, &seqscan)
		return deed.Receipt{RemoteSystem: "accounts", RemoteID: "settings"}, err
	})
	if err != nil || lock != "17s" || seqscan != "on" {
		t.Errorf("lock_timeout is %s, enable_seqscan %s, %v", lock, seqscan, err)
	}
	if commit != "on" {
		t.Errorf("synchronous_commit is %s: an acknowledged receipt may be lost", commit)
	}
}
