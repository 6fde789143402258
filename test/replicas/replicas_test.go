// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/postgres"
)

// Calls land anywhere, each key twice at the same moment.
func TestOneDispatchForEachKeyWhereverCallsLand(t *testing.T) {
	for _, replicas := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			f := newFleet(t, inPostgreSQL, cluster, replicas, nil)
			const keys, callers = 120, 16
			began := time.Now()
			var work sync.WaitGroup
			next := make(chan int)
			for range callers {
				work.Go(func() {
					for n := range next {
						order := fmt.Sprintf("order-%d", n)
						d := doors()[rand.IntN(3)]
						told := make([]verdict, 2)
						var pair sync.WaitGroup
						for i := range told {
							pair.Go(func() { told[i] = f.charge(d, rand.IntN(replicas), "charge:"+order+":first", order) })
						}
						pair.Wait()
						f.pairAgrees(order, told)
					}
				})
			}
			for n := range keys {
				next <- n
			}
			close(next)
			work.Wait()
			took := time.Since(began)
			effects, err := f.fixture.Effects(t.Context(), provider.Selection{})
			f.must(err)
			requests, err := f.fixture.Requests(t.Context(), provider.Selection{})
			f.must(err)
			if len(effects) != keys || len(requests) != keys {
				t.Errorf("%d requests and %d effects of %d keys", len(requests), len(effects), keys)
			}
			t.Logf("%d gateways: %.0f calls/s", replicas, 2*keys/took.Seconds())
		})
	}
}

func (f *fleet) pairAgrees(order string, told []verdict) {
	f.Helper()
	executed := 0
	for _, v := range told {
		if v.decision == "execute" {
			executed++
		}
	}
	if executed != 1 || told[0].remote == "" || told[0].remote != told[1].remote {
		f.Errorf("%s was answered %s and %s", order, told[0], told[1])
	}
}

func TestWhatAKilledGatewayHadInHandIsUncertainAndAnsweredByAnother(t *testing.T) {
	for _, kind := range []store{inSQLite, inPostgreSQL} {
		t.Run(string(kind), func(t *testing.T) {
			f := newFleet(t, kind, cluster, 2, nil)
			d := doors()[0]
			f.misbehave(provider.Fault{Fault: provider.CommitHang})
			answered := make(chan verdict, 1)
			go func() { answered <- f.charge(d, 0, "charge:order-1:first", "order-1") }()
			f.must(f.fixture.AwaitHeld(t.Context(), "pay.charge", 1))
			f.gateways[0].Kill()
			if told := <-answered; told.err == nil {
				t.Errorf("the caller of a killed gateway was told %s", told)
			}
			// The lease runs out while this repeat waits.
			told := f.charge(d, 1, "charge:order-1:first", "order-1")
			if told.decision != "uncertain" {
				t.Errorf("the other gateway answered %s", told)
			}
			f.counted("order-1", 1, 1)
			f.must(f.fixture.Release(t.Context(), ""))
			f.resolve(1, "charge:order-1:first", "pay_found")
			if told := f.charge(d, 1, "charge:order-1:first", "order-1"); told.decision != "replay" || told.remote != "pay_found" {
				t.Errorf("after a person said what happened, the answer is %s", told)
			}
			// A gateway that comes back, or is new, answers alike.
			fresh := f.start()
			if told := f.charge(doors()[1], fresh, "charge:order-1:first", "order-1"); told.decision != "replay" || told.remote != "pay_found" {
				t.Errorf("a new gateway answered %s", told)
			}
			f.counted("order-1", 1, 1)
		})
	}
}

// resolve records, as an operator, that the operation of a key was committed.
func (f *fleet) resolve(i int, key, remote string) {
	f.Helper()
	client, err := api.New(api.Options{BaseURL: "http://" + f.addresses[i], HTTP: plain()})
	f.must(err)
	page, err := client.Page(f.Context(), api.Query{Key: key})
	f.must(err)
	if len(page.Operations) != 1 {
		f.Fatalf("%d operations have the key %s", len(page.Operations), key)
	}
	command := exec.Command(program, "ops", "resolve", string(page.Operations[0].OperationID), "--ledger", f.ledger,
		"--committed", "--remote-id", remote, "--force", "--reason", "seen in the provider's own list")
	if said, err := command.CombinedOutput(); err != nil {
		f.Fatalf("%s: %v\n%s", command, err, said)
	}
}

func TestAnOlderGatewayReplaysFromANewerLedgerAndWritesNothing(t *testing.T) {
	f := newFleet(t, inPostgreSQL, cluster, 1, nil)
	d := doors()[0]
	first := f.charge(d, 0, "charge:order-1:first", "order-1")
	f.oneExecuted([]verdict{first})
	f.must(f.server.Exec(t.Context(), f.database, `UPDATE deed_ledger SET version = version + 1`))
	restarted := f.start()
	for _, i := range []int{0, restarted} {
		if told := f.charge(d, i, "charge:order-1:first", "order-1"); told.decision != "replay" || told.remote != first.remote {
			t.Errorf("gateway %d answered a repeat with %s", i, told)
		}
		if told := f.charge(d, i, "charge:order-2:first", "order-2"); told.decision != "denied" || told.reason != "store_unavailable" {
			t.Errorf("gateway %d answered a new call with %s", i, told)
		}
	}
	f.counted("order-2", 0, 0)
	// What the newer version says it cannot read is not read either.
	f.must(f.server.Exec(t.Context(), f.database, `UPDATE deed_ledger SET min_reader = version`))
	if told := f.charge(d, 0, "charge:order-1:first", "order-1"); told.decision != "denied" {
		t.Errorf("a ledger that it cannot read was answered from: %s", told)
	}
	refused := f.launch()
	select {
	case <-refused.Exited():
		if !strings.Contains(refused.Output(), "newer") {
			t.Errorf("a gateway too old for the ledger said: %s", refused.Output())
		}
	case <-time.After(time.Minute):
		t.Error("a gateway too old for the ledger started")
	}
	f.must(f.server.Exec(t.Context(), f.database, `UPDATE deed_ledger SET version = version - 1, min_reader = 1`))
	f.settles(d, 0, "charge:order-2:first", "order-2", "execute")
	f.counted("order-2", 1, 1)
}

func TestADatabaseThatIsDownAtTheStartIsNamed(t *testing.T) {
	server := ownCluster(t)
	f := newFleet(t, inPostgreSQL, server, 0, nil)
	f.must(server.Down())
	refused := f.launch()
	select {
	case <-refused.Exited():
	case <-time.After(time.Minute):
		t.Fatal("a gateway without its database neither starts nor ends")
	}
	if said := refused.Output(); !strings.Contains(said, "cannot be reached") && !strings.Contains(said, "unavailable") {
		t.Errorf("it said: %s", said)
	}
}

// An operation begun over MCP is recovered over HTTP and by a Go program.
func TestAnOperationIsRecoveredThroughEveryDoor(t *testing.T) {
	f := newFleet(t, inPostgreSQL, cluster, 2, nil)
	all := doors()
	first := f.charge(all[2], 0, "charge:order-1:first", "order-1")
	f.oneExecuted([]verdict{first})
	for i, d := range all {
		if told := f.charge(d, i%2, "charge:order-1:first", "order-1"); told.decision != "replay" || told.remote != first.remote {
			t.Errorf("through %s: %s", d.name, told)
		}
		changed := d.call(t.Context(), "http://"+f.addresses[i%2], "charge:order-1:first", "pay.charge", object{"order_id": "order-1", "amount": 200})
		if changed.decision != "conflict" {
			t.Errorf("another amount through %s: %s", d.name, changed)
		}
	}
	ledger, err := postgres.Open(t.Context(), f.ledger, postgres.Options{})
	f.must(err)
	defer func() { f.must(ledger.Close()) }()
	rt, err := deed.New(deed.Options{Store: ledger, Policy: deed.FixedPolicy{}})
	f.must(err)
	defer func() { f.must(rt.Close(context.Background())) }()
	answer, err := rt.Do(t.Context(), deed.Call{
		Principal: deed.Principal{Tenant: "default", Actor: "local", Rights: []deed.Right{deed.RightCall, deed.RightRead}},
		Tool:      "shop/pay.charge", Key: deed.OperationKey("charge:order-1:first"), Arguments: []byte(`{"amount":100,"order_id":"order-1"}`),
		Facts: deed.ToolFacts{UpstreamIdentity: f.fixture.MCP},
	}, func(context.Context, deed.Attempt) (deed.Receipt, error) {
		t.Error("the Go program had the effect again")
		return deed.Receipt{}, nil
	})
	if err != nil || answer.Decision != deed.Replay || answer.Operation.Receipt().RemoteID != first.remote {
		t.Errorf("the Go program was answered %s %s %s, %v", answer.Decision, answer.Reason, answer.Text, err)
	}
	if code := f.get(1, "/readyz"); code != http.StatusOK {
		t.Errorf("/readyz answers %d", code)
	}
	f.counted("order-1", 1, 1)
}
