// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package dotx_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/test/pgcluster"
)

const tool deed.Tool = "accounts/transfer"

const (
	cutsVariable = "DEED_CUTS"
	crashing     = "DEED_DOTX_CRASH"
)

// cluster is the server of all tests of this package.
var cluster *pgcluster.Cluster

func TestMain(m *testing.M) {
	if address := os.Getenv(crashing); address != "" {
		crash(address)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if cluster, err = pgcluster.Start(pgcluster.Memory()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// bank is a program with its own table beside the ledger's.
type bank struct {
	pool    *pgxpool.Pool
	ledger  *postgres.Ledger
	runtime *deed.Runtime
}

// made counts the databases.
var made atomic.Int64

// newDatabase makes a database with the program's table.
func newDatabase(t *testing.T) (name string) {
	t.Helper()
	name = fmt.Sprintf("bank_%d", made.Add(1))
	if _, err := cluster.Database(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Exec(t.Context(), name, `CREATE TABLE transfers (name text, amount int)`); err != nil {
		t.Fatal(err)
	}
	return name
}

func rule() deed.Rule {
	r := deed.DefaultRule(tool)
	r.Rate, r.Repeat = deed.Limit{N: -1, Per: time.Second}, deed.Limit{N: -1, Per: time.Second}
	return r
}

// openBank opens one process's view: its own pool, ledger and Runtime.
func openBank(ctx context.Context, address, ledgerAddress string, r deed.Rule) (*bank, error) {
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return nil, err
	}
	ledger, err := postgres.Open(ctx, ledgerAddress, postgres.Options{})
	if err != nil {
		return nil, err
	}
	rt, err := deed.New(deed.Options{Store: ledger, Policy: deed.FixedPolicy{tool: r}})
	return &bank{pool: pool, ledger: ledger, runtime: rt}, err
}

func (b *bank) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b.pool.Close()
	return errors.Join(b.runtime.Close(ctx), b.ledger.Close())
}

func newBank(t *testing.T, database string, r deed.Rule) *bank {
	t.Helper()
	address := cluster.Address(database)
	b, err := openBank(t.Context(), address, address, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func call(key string, amount int) deed.Call {
	return deed.Call{
		Principal: deed.Principal{Tenant: "acme", Actor: "clerk", Rights: []deed.Right{deed.RightCall, deed.RightRead}},
		Tool:      tool, Key: deed.OperationKey("transfer-number:" + key),
		Arguments: fmt.Appendf(nil, `{"to":%q,"amount":%d}`, key, amount),
	}
}

// transfer makes a transfer once, with then called in the transaction after
// the effect.
func (b *bank) transfer(ctx context.Context, key string, amount int, then func() error) (deed.Answer, error) {
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		return deed.Answer{}, err
	}
	return deed.DoTx(ctx, b.runtime, b.ledger.InTx(tx), call(key, amount), func(ctx context.Context, _ deed.Attempt) (deed.Receipt, error) {
		if _, err := tx.Exec(ctx, `INSERT INTO transfers VALUES ($1, $2)`, key, amount); err != nil {
			return deed.Receipt{}, err
		}
		if then != nil {
			if err := then(); err != nil {
				return deed.Receipt{}, err
			}
		}
		return deed.Receipt{RemoteSystem: "accounts", RemoteID: key, Result: fmt.Appendf(nil, `{"booked":%d}`, amount)}, nil
	})
}

// transfers counts the effects of a key.
func transfers(t *testing.T, database, key string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), cluster.Address(database))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM transfers WHERE name = $1`, key).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// record reads the operation of a key, nil if there is none.
func (b *bank) record(t *testing.T, key string) *deed.Operation {
	t.Helper()
	view, err := b.ledger.Load(t.Context(), deed.Scope{
		Tenant: "acme", Keys: []deed.Key{{Family: deed.FamilyOperation, Text: "transfer-number:" + key, Generation: 1, Provenance: deed.ProvenanceRuntime}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return view.Operation
}

func want(t *testing.T, answer deed.Answer, err error, decision deed.Decision, result string) {
	t.Helper()
	if err != nil || answer.Decision != decision || string(answer.Result) != result {
		t.Errorf("answered %s %s with %q: %s, %v; want %s with %q", answer.Decision, answer.Reason, answer.Result, answer.Text, err, decision, result)
	}
}

func cuts(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv(cutsVariable)
	if text == "" {
		return 30
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a number of cuts", cutsVariable, text)
	}
	return n
}
