// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/postgres/internal/pgtest"
)

// openedBy makes the test program open a ledger and end.
const openedBy = "DEED_POSTGRES_OPEN"

func TestMigrationsOfEightProcessesAtOnce(t *testing.T) {
	if address := os.Getenv(openedBy); address != "" {
		ledger, err := postgres.Open(t.Context(), address, postgres.Options{Patience: 60 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := newBenchOperation(int64(os.Getpid())).transactBoth(t.Context(), ledger); err != nil {
			t.Error(err)
		}
		if err := ledger.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	schema := cluster.Schema(t)
	errs := make(chan error)
	for range 8 {
		go func() {
			cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
			cmd.Env = append(os.Environ(), openedBy+"="+schema)
			said, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, said)
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	page, err := open(t, schema, postgres.Options{}).List(t.Context(), deed.Query{Tenant: benchTenant})
	if err != nil || len(page.Operations) != 8 {
		t.Errorf("%d operations are there, %v", len(page.Operations), err)
	}
}

func TestWorksThroughAPoolerInTransactionMode(t *testing.T) {
	database := cluster.Database(t)
	address := fmt.Sprintf("postgres://deed@127.0.0.1:%d/%s?sslmode=disable&default_query_exec_mode=exec", cluster.Bouncer(t), database)
	here := open(t, address, postgres.Options{Listen: cluster.Address(database), Poll: time.Hour, Patience: 30 * time.Second})
	there := open(t, address, postgres.Options{Listen: postgres.NoListen, Patience: 30 * time.Second})
	told := &claims{told: map[int64]error{}}
	told.work(t.Context(), here, 16, func() bool { return told.number.Load() >= 64 })
	for n, err := range told.told {
		if err != nil {
			t.Errorf("operation %d: %v", n, err)
		}
	}
	told.check(t, address)
	o := newBenchOperation(9999)
	if _, err := here.Transact(t.Context(), o.scope, func(deed.View) (deed.Change, error) { return o.begin, nil }); err != nil {
		t.Fatal(err)
	}
	if err := settle(t.Context(), there, o); err != nil {
		t.Fatal(err)
	}
	if version, err := here.Watch(t.Context(), benchTenant, o.id(), 1); err != nil || version != 2 {
		t.Errorf("Watch = %d, %v", version, err)
	}
}

// begin tries to write and returns why not.
func begin(ctx context.Context, ledger *postgres.Ledger, n int64) error {
	o := newBenchOperation(n)
	_, err := ledger.Transact(ctx, o.scope, func(deed.View) (deed.Change, error) { return o.begin, nil })
	return err
}

func TestALedgerOfANewerVersionIsReadAndNotWritten(t *testing.T) {
	schema := cluster.Schema(t)
	ledger := open(t, schema, postgres.Options{})
	if err := begin(t.Context(), ledger, 1); err != nil {
		t.Fatal(err)
	}
	name := schema[strings.Index(schema, "search_path=")+len("search_path="):]
	name, _, _ = strings.Cut(name, "&")
	if err := cluster.Exec("postgres", "UPDATE "+name+".deed_ledger SET version = 99"); err != nil {
		t.Fatal(err)
	}
	later := open(t, schema, postgres.Options{})
	for _, l := range []*postgres.Ledger{ledger, later} {
		if err := begin(t.Context(), l, 2); !errors.Is(err, deed.ErrLedgerVersion) {
			t.Errorf("writing: %v, want ErrLedgerVersion", err)
		}
		if _, err := l.Setting(t.Context(), "x", func([]byte) []byte { return []byte("y") }); !errors.Is(err, deed.ErrLedgerVersion) {
			t.Errorf("a setting: %v, want ErrLedgerVersion", err)
		}
		view, err := l.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: newBenchOperation(1).id()})
		if err != nil || view.Operation == nil {
			t.Errorf("reading: %v", err)
		}
	}
	if err := cluster.Exec("postgres", "UPDATE "+name+".deed_ledger SET min_reader = 99"); err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Open(t.Context(), schema, postgres.Options{}); !errors.Is(err, deed.ErrLedgerVersion) || !errors.Is(err, deed.ErrUnavailable) {
		t.Errorf("opening: %v, want ErrLedgerVersion and ErrUnavailable", err)
	}
	if _, err := ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: newBenchOperation(1).id()}); !errors.Is(err, deed.ErrLedgerVersion) {
		t.Errorf("reading what this version may not read: %v", err)
	}
}

func TestARefusalOfTheDatabaseIsUnavailableAndSaysWhatToDo(t *testing.T) {
	database := cluster.Database(t)
	ledger := open(t, cluster.Address(database), postgres.Options{})
	if err := cluster.Exec("postgres", "ALTER DATABASE "+database+" SET default_transaction_read_only = on"); err != nil {
		t.Fatal(err)
	}
	err := begin(t.Context(), ledger, 1)
	if !errors.Is(err, deed.ErrUnavailable) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("on a read-only database: %v", err)
	}
	for name, address := range map[string]string{
		"nobody listens":     "postgres://deed@127.0.0.1:1/x?sslmode=disable",
		"no such database":   cluster.Address("nowhere"),
		"no such parameters": "postgres://deed@127.0.0.1:port/x",
	} {
		var open *postgres.OpenError
		if _, err := postgres.Open(t.Context(), address, postgres.Options{}); !errors.As(err, &open) || !errors.Is(err, deed.ErrUnavailable) || open.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAServerThatStopsAndComesBack(t *testing.T) {
	server, err := pgtest.Start(pgtest.Memory())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	ledger := open(t, server.Address("postgres"), postgres.Options{})
	if err := begin(t.Context(), ledger, 1); err != nil {
		t.Fatal(err)
	}
	if err := server.Down(); err != nil {
		t.Fatal(err)
	}
	if err := begin(t.Context(), ledger, 2); !errors.Is(err, deed.ErrUnavailable) || errors.Is(err, deed.ErrCommitUnknown) {
		t.Errorf("while it is down: %v, want ErrUnavailable", err)
	}
	if _, err := ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: "x"}); !errors.Is(err, deed.ErrUnavailable) {
		t.Errorf("reading while it is down: %v, want ErrUnavailable", err)
	}
	if err := server.Up(); err != nil {
		t.Fatal(err)
	}
	if err := begin(t.Context(), ledger, 3); err != nil {
		t.Errorf("after it came back: %v", err)
	}
	view, err := ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: newBenchOperation(1).id()})
	if err != nil || view.Operation == nil {
		t.Errorf("what was written before: %v, %v", view.Operation, err)
	}
}

func TestTimesComeFromTheDatabase(t *testing.T) {
	ledger := open(t, cluster.Schema(t), postgres.Options{})
	before := time.Now().Add(-time.Second)
	view, err := ledger.Transact(t.Context(), deed.Scope{Tenant: benchTenant, ID: "x"}, func(view deed.View) (deed.Change, error) {
		return deed.Change{}, nil
	})
	if err != nil || view.Now.Before(before) || view.Now.Location() != time.UTC {
		t.Errorf("Now = %s, %v", view.Now, err)
	}
	read, err := ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: "x"})
	if err != nil || read.Now.Before(view.Now) {
		t.Errorf("a later Load is at %s, %v", read.Now, err)
	}
}
