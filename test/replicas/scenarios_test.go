// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed/faultkit/provider"
)

// campaignVariable asks for every pair of store, number and door.
const campaignVariable = "DEED_CAMPAIGN"

// everywhere plays a scenario on both stores, with one and two gateways, through
// every door. A scenario that stops its server gets one of its own.
func everywhere(t *testing.T, own bool, play func(f *fleet, d door)) {
	for _, kind := range []store{inSQLite, inPostgreSQL} {
		for replicas := 1; replicas <= 2; replicas++ {
			// What waits for patience to end is played in full by the campaign.
			brief := own && os.Getenv(campaignVariable) != "1"
			if brief && replicas == 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", kind, replicas), func(t *testing.T) {
				server := cluster
				if own && kind == inPostgreSQL {
					server = ownCluster(t)
				}
				f := newFleet(t, kind, server, replicas, nil)
				for _, d := range doors() {
					if brief && d.name == "mcp" {
						continue
					}
					t.Run(d.name, func(t *testing.T) {
						of := *f
						of.T = t
						play(&of, d)
					})
				}
			})
		}
	}
}

// Scenario B06 and D01 of the field: fifty callers, one key.
func TestOfFiftyCallersOneHasTheEffect(t *testing.T) {
	everywhere(t, false, func(f *fleet, d door) {
		order := "race-" + d.name
		f.misbehave(provider.Fault{Fault: provider.Hang, Params: provider.FaultParams{MS: 200}})
		f.oneExecuted(f.together(d, 50, "charge:"+order+":first", order))
		f.counted(order, 1, 1)
	})
}

// A hop that sends each request twice, to two gateways where there are two.
func TestAHopThatDuplicatesEveryRequestDoublesNothing(t *testing.T) {
	everywhere(t, false, func(f *fleet, d door) {
		if d.name == "mcp" {
			return // a session lives at one gateway; the race covers it
		}
		hop := httptest.NewServer(&duplicator{targets: f.addresses})
		defer hop.Close()
		for n := range 5 {
			order := fmt.Sprintf("hop-%s-%d", d.name, n)
			told := d.call(f.Context(), hop.URL, "charge:"+order+":first", "pay.charge", object{"order_id": order, "amount": 100})
			if told.err != nil || told.decision != "execute" && told.decision != "replay" {
				f.Errorf("the first copy was answered %s", told)
			}
			f.counted(order, 1, 1)
		}
	})
}

// duplicator answers with the first copy's answer once both have been answered.
type duplicator struct{ targets []string }

func (d *duplicator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	var copies sync.WaitGroup
	defer copies.Wait()
	answers := make([]*httptest.ResponseRecorder, 2)
	for i := range answers {
		answers[i] = httptest.NewRecorder()
		copies.Go(func() { d.send(r, body, d.targets[i%len(d.targets)], answers[i]) })
	}
	copies.Wait()
	for name, values := range answers[0].Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answers[0].Code)
	_, _ = w.Write(answers[0].Body.Bytes())
}

func (d *duplicator) send(r *http.Request, body []byte, target string, answer *httptest.ResponseRecorder) {
	copied, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, "http://"+target+r.URL.Path, bytes.NewReader(body))
	if err == nil {
		copied.Header = r.Header.Clone()
		var resp *http.Response
		if resp, err = plain().Do(copied); err == nil {
			defer func() { _ = resp.Body.Close() }()
			for name, values := range resp.Header {
				answer.Header()[name] = values
			}
			answer.WriteHeader(resp.StatusCode)
			_, err = io.Copy(answer, resp.Body)
		}
	}
	if err != nil {
		http.Error(answer, err.Error(), http.StatusBadGateway)
	}
}

// Scenario D01: forty deliveries of one message from eight workers.
func TestAMessageThatIsDeliveredFortyTimesHasOneEffect(t *testing.T) {
	everywhere(t, false, func(f *fleet, d door) {
		order := "message-" + d.name
		var told []verdict
		var mu sync.Mutex
		var workers sync.WaitGroup
		for worker := range 8 {
			workers.Go(func() {
				for delivery := range 5 {
					v := f.charge(d, (worker+delivery)%len(f.addresses), "charge:"+order+":first", order)
					mu.Lock()
					told = append(told, v)
					mu.Unlock()
				}
			})
		}
		workers.Wait()
		f.oneExecuted(told)
		f.counted(order, 1, 1)
	})
}

// Without its ledger a gateway refuses what changes the world and lets reads
// pass; afterwards it goes on by itself.
func TestWithoutTheLedgerNothingIsSentAndReadsPass(t *testing.T) {
	everywhere(t, true, func(f *fleet, d door) {
		order := "down-" + d.name
		key := "charge:" + order + ":first"
		last := len(f.addresses) - 1
		f.oneExecuted([]verdict{f.charge(d, last, "charge:"+order+":before", order+"-before")})
		giveBack := f.takeAway()
		told := f.charge(d, last, key, order)
		if told.decision != "denied" || told.reason != "store_unavailable" {
			f.Errorf("a charge without a ledger was answered %s", told)
		}
		read := d.call(f.Context(), "http://"+f.addresses[last], "", "ticket.search", object{"q": "anything"})
		if read.err != nil || read.decision != "passed" && read.decision != "execute" {
			f.Errorf("a read without a ledger was answered %s", read)
		}
		if code := f.get(last, "/readyz"); code == http.StatusOK {
			f.Error("a gateway without a ledger says that it is ready")
		}
		f.counted(order, 0, 0)
		giveBack()
		f.settles(d, last, key, order, "execute")
		f.counted(order, 1, 1)
	})
}

// The ledger goes away while the provider is at work: the effect happened, the
// caller is told that nobody knows, and the receipt is there when the ledger is.
func TestALedgerThatIsLostInMidCallLosesNoReceipt(t *testing.T) {
	everywhere(t, true, func(f *fleet, d door) {
		order := "mid-" + d.name
		key := "charge:" + order + ":first"
		f.misbehave(provider.Fault{Fault: provider.Hang})
		answered := make(chan verdict, 1)
		go func() { answered <- f.charge(d, 0, key, order) }()
		f.must(f.fixture.AwaitHeld(f.Context(), "pay.charge", 1))
		giveBack := f.takeAway()
		f.must(f.fixture.Release(f.Context(), ""))
		if told := <-answered; told.decision != "uncertain" {
			f.Errorf("the caller was told %s", told)
		}
		giveBack()
		f.settles(d, len(f.addresses)-1, key, order, "replay")
		f.counted(order, 1, 1)
	})
}

// settles repeats a call until it is answered in the wanted way.
func (f *fleet) settles(d door, i int, key, order, want string) {
	f.Helper()
	var told verdict
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if told = f.charge(d, i, key, order); told.err == nil && told.decision == want && told.remote != "" {
			return
		}
	}
	f.Fatalf("%s comes to no %s: %s", order, want, told)
}
