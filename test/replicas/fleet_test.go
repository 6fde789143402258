// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/test/pgcluster"
	"github.com/deed-run/deed/test/process"
)

type object = map[string]any

// store is a kind of ledger.
type store string

const (
	inSQLite     store = "SQLite"
	inPostgreSQL store = "PostgreSQL"
)

// fleet is gateways on one ledger, in front of a provider that counts.
type fleet struct {
	*testing.T
	fixture *faultkit.Fixture
	store   store
	// ledger is what a program opens, place what a configuration names.
	ledger string
	place  string
	config string
	// database and server are those of a ledger in PostgreSQL.
	database string
	server   *pgcluster.Cluster
	// small is the folder of a database in little room.
	small string

	addresses []string
	gateways  []*process.Process
}

// databases counts those that were made.
var databases atomic.Int64

// newFleet starts so many gateways on a new ledger. server is the cluster for
// PostgreSQL, defaults replace entries of the configuration's.
func newFleet(t *testing.T, kind store, server *pgcluster.Cluster, replicas int, defaults object) *fleet {
	t.Helper()
	dir := t.TempDir()
	fixture, err := faultkit.StartFixture(context.Background(), []string{program, "fixture"}, filepath.Join(dir, "provider"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fixture.Close() })
	f := &fleet{T: t, fixture: fixture, store: kind, config: filepath.Join(dir, "deed.yaml"), server: server}
	f.ledger = filepath.Join(dir, "ledger.db")
	f.place = "sqlite:" + f.ledger
	if kind == inPostgreSQL {
		f.database = fmt.Sprintf("fleet_%d", databases.Add(1))
		if _, err := server.Database(t.Context(), f.database); err != nil {
			t.Fatal(err)
		}
		f.place = server.URL(f.database)
		f.ledger = f.place
	}
	all := object{"lease": "3s", "timeout": "1m", "rate": "1000000/s", "repeat": "1000000/s"}
	maps.Copy(all, defaults)
	f.write(object{
		"ledger": f.place, "defaults": all,
		"upstreams": object{"shop": object{"url": fixture.MCP}},
		"tools": object{
			"shop/pay.charge":    object{"effect": "non_idempotent", "key": "required", "matter": []string{"/order_id"}, "receipt": object{"system": "shop", "id": "/structuredContent/id"}},
			"shop/ticket.search": object{"effect": "read_only"},
		},
	})
	for range replicas {
		f.start()
	}
	return f
}

func (f *fleet) write(config object) {
	f.Helper()
	text, err := yaml.Marshal(config)
	f.must(err)
	f.must(os.WriteFile(f.config, text, 0o600))
}

func (f *fleet) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// start adds a gateway and returns its number.
func (f *fleet) start() int {
	f.Helper()
	gateway := f.launch()
	address := f.listening(gateway)
	f.addresses, f.gateways = append(f.addresses, address), append(f.gateways, gateway)
	return len(f.gateways) - 1
}

// launch starts a gateway that need not come up, on a port that it takes.
func (f *fleet) launch() *process.Process {
	f.Helper()
	command := exec.Command(program, "serve", "--config", f.config, "--listen", "127.0.0.1:0")
	diesWithUs(command)
	return process.Start(f, command)
}

// listening waits until a gateway says where it listens.
func (f *fleet) listening(gateway *process.Process) string {
	f.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, after, said := strings.Cut(gateway.Output(), "listening on http://"); said {
			if address, _, whole := strings.Cut(after, "\n"); whole {
				return address
			}
		}
		select {
		case <-tick.C:
		case <-gateway.Exited():
			f.Fatalf("a gateway ended before it listened: %s", gateway.Output())
		case <-f.Context().Done():
			f.Fatal(f.Context().Err())
		}
	}
}

// misbehave orders the provider to serve the next call so.
func (f *fleet) misbehave(fault provider.Fault) {
	f.Helper()
	fault.Times = 1
	f.must(f.fixture.SetFaults(f.Context(), fault))
}

// counted compares what the provider received and did for an order.
func (f *fleet) counted(order string, requests, effects int) {
	f.Helper()
	received, err := f.fixture.Requests(f.Context(), provider.Selection{Op: order})
	f.must(err)
	done, err := f.fixture.Effects(f.Context(), provider.Selection{Op: order})
	f.must(err)
	if len(received) != requests || len(done) != effects {
		f.Errorf("%s: the provider received %d requests and did %d; want %d and %d", order, len(received), len(done), requests, effects)
	}
}

// takeAway makes the ledger unreachable until the returned function is called.
func (f *fleet) takeAway() (giveBack func()) {
	f.Helper()
	if f.store == inPostgreSQL {
		f.must(f.server.Down())
		return func() { f.must(f.server.Up()) }
	}
	conn, err := sqlite3.OpenFlags(f.ledger, sqlite3.OPEN_READWRITE)
	f.must(err)
	f.must(conn.BusyTimeout(time.Minute))
	f.must(conn.Exec("BEGIN IMMEDIATE"))
	return func() {
		f.must(conn.Exec("ROLLBACK"))
		f.must(conn.Close())
	}
}

// get asks a gateway and returns the status of the answer.
func (f *fleet) get(i int, path string) int {
	f.Helper()
	resp, err := http.Get("http://" + f.addresses[i] + path)
	f.must(err)
	f.must(resp.Body.Close())
	return resp.StatusCode
}
