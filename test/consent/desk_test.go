// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package consent_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/test/process"
)

type object = map[string]any

// The ledgers.
const (
	inSQLite     = "SQLite"
	inPostgreSQL = "PostgreSQL"
)

// Who comes with a token; the token is the name.
const agent = "agent-7"

func approver(n int) string { return fmt.Sprintf("person-%d", n%8) }

// desk is a provider that counts, and a ledger with gateways in front of it.
type desk struct {
	*testing.T
	fixture *faultkit.Fixture
	config  string
	// place is where the ledger is.
	place    string
	gateways []*gateway
}

type gateway struct {
	address string
	process *process.Process
}

var databases atomic.Int64

// open makes a ledger and writes the configuration; more are further entries of
// it. No gateway runs yet.
func open(t *testing.T, ledger string, more object) *desk {
	t.Helper()
	dir := t.TempDir()
	fixture, err := faultkit.StartFixture(context.Background(), []string{program, "fixture"}, filepath.Join(dir, "provider"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fixture.Close() })
	d := &desk{T: t, fixture: fixture, config: filepath.Join(dir, "deed.yaml")}
	place := "sqlite:" + filepath.Join(dir, "ledger.db")
	if ledger == inPostgreSQL {
		name := fmt.Sprintf("desk_%d", databases.Add(1))
		_, err := cluster.Database(t.Context(), name)
		d.must(err)
		place = cluster.URL(name)
	}
	d.place = place
	config := object{
		"ledger": place, "auth": object{"tokens": tokens()},
		"defaults":  object{"lease": "3s", "timeout": "20s", "rate": "1000000/s", "repeat": "1000000/s"},
		"upstreams": object{"shop": object{"url": fixture.MCP}},
		"tools": object{
			"shop/pay.refund": refunds("on_call"), "shop/pay.charge": refunds("on_approval"),
		},
	}
	for name, value := range more {
		config[name] = value
	}
	text, err := yaml.Marshal(config)
	d.must(err)
	d.must(os.WriteFile(d.config, text, 0o600))
	return d
}

func refunds(run string) object {
	return object{
		"effect": "non_idempotent", "receipt": object{"system": "shop", "id": "/structuredContent/id"}, "approval": object{"run": run},
	}
}

func tokens() []object {
	var list []object
	add := func(name string, rights ...string) {
		sum := sha256.Sum256([]byte(name))
		list = append(list, object{"sha256": hex.EncodeToString(sum[:]), "actor": name, "rights": rights})
	}
	add(agent, "call", "read")
	for n := range 8 {
		add(approver(n), "read", "approve")
	}
	return list
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// start adds a gateway.
func (d *desk) start(binary string, env ...string) *gateway {
	d.Helper()
	g := d.tryToStart(binary, env...)
	if g == nil {
		d.Fatal("a gateway ended before it listened")
	}
	d.gateways = append(d.gateways, g)
	return g
}

// tryToStart is start, of a gateway that may die before it listens; then it
// returns nil.
func (d *desk) tryToStart(binary string, env ...string) *gateway {
	d.Helper()
	command := exec.Command(binary, "serve", "--config", d.config, "--listen", "127.0.0.1:0")
	command.Env = append(os.Environ(), env...)
	g := &gateway{process: process.Start(d, command)}
	for {
		if _, rest, listens := strings.Cut(g.process.Output(), "listening on http://"); listens {
			if address, _, whole := strings.Cut(rest, "\n"); whole {
				g.address = address
				return g
			}
		}
		select {
		case <-g.process.Exited():
			return nil
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// as is a client of a gateway, which never repeats a request.
func (d *desk) as(who string, g *gateway) *api.Client {
	d.Helper()
	client, err := api.New(api.Options{
		BaseURL: "http://" + g.address, Token: who, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
	d.must(err)
	return client
}

// call makes a call of the agent, named by its order, and returns what it was
// told.
func (d *desk) call(g *gateway, tool, order string, amount int) (api.Verdict, error) {
	d.Helper()
	arguments, err := json.Marshal(object{"order_id": order, "amount": amount})
	d.must(err)
	answer, err := d.as(agent, g).Call(d.Context(), deed.Tool("shop/"+tool), tool+":"+order+":first", api.CallRequest{Arguments: arguments})
	if problem, is := api.AsProblem(err); is {
		return problem.Verdict, nil
	}
	return answer.Verdict, err
}

// propose makes a call that must wait for a person.
func (d *desk) propose(g *gateway, tool, order string) api.Operation {
	d.Helper()
	told, err := d.call(g, tool, order, 47)
	d.must(err)
	if told.Decision != deed.AwaitingApproval || told.Operation == nil || told.Operation.Approval == nil {
		d.Fatalf("a proposal was answered %s (%s)", told.Decision, told.Reason)
	}
	return *told.Operation
}

// settled repeats a call until its operation has an outcome.
func (d *desk) settled(g *gateway, tool, order string) api.Verdict {
	d.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		told, err := d.call(g, tool, order, 47)
		d.must(err)
		if told.Decision != deed.InProgress {
			return told
		}
	}
	d.Fatalf("%s comes to no end", order)
	return api.Verdict{}
}

// books are what the provider received and did for an order.
func (d *desk) books(order string) (requests, effects int) {
	d.Helper()
	received, err := d.fixture.Requests(d.Context(), provider.Selection{Op: order})
	d.must(err)
	done, err := d.fixture.Effects(d.Context(), provider.Selection{Op: order})
	d.must(err)
	return len(received), len(done)
}
