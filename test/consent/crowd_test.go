// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package consent_test

import (
	"context"
	"fmt"
	"math/big"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/faultkit/provider"
)

// everywhere plays on both ledgers, with two gateways.
func everywhere(t *testing.T, more object, play func(d *desk)) {
	for _, ledger := range []string{inSQLite, inPostgreSQL} {
		t.Run(ledger, func(t *testing.T) {
			d := open(t, ledger, more)
			d.start(program)
			d.start(program)
			play(d)
		})
	}
}

func TestOfTwoHundredApprovalsOneWinsAndTheOthersAreToldWho(t *testing.T) {
	everywhere(t, nil, func(d *desk) {
		proposal := d.propose(d.gateways[0], "pay.charge", "order-1")
		errs := make([]error, 200)
		var people sync.WaitGroup
		for i := range errs {
			people.Go(func() {
				client := d.as(approver(i), d.gateways[i%2])
				_, errs[i] = client.Approve(d.Context(), proposal.OperationID, api.ApproveRequest{Digest: proposal.Approval.Digest})
			})
		}
		people.Wait()
		winners, winner := 0, ""
		for i, err := range errs {
			if err == nil {
				winners, winner = winners+1, approver(i)
			}
		}
		if winners != 1 {
			d.Errorf("%d approvals won, want 1", winners)
		}
		for _, err := range errs {
			problem, is := api.AsProblem(err)
			if err != nil && (!is || !strings.Contains(problem.Detail, winner)) {
				d.Fatalf("somebody was not told that %s approved: %v", winner, err)
			}
		}
		_, err := d.fixture.Effects(d.Context(), provider.Selection{Op: "order-1", AtLeast: 1})
		d.must(err)
		told := d.settled(d.gateways[1], "pay.charge", "order-1")
		if told.Operation == nil || told.Operation.Status != deed.StatusCommitted {
			d.Errorf("the caller is answered %s (%s)", told.Decision, told.Reason)
		}
		if requests, effects := d.books("order-1"); requests != 1 || effects != 1 {
			d.Errorf("one approval, %d requests, %d effects", requests, effects)
		}
	})
}

// Whoever opens a link, and with whatever session, decides nothing.
func TestOpeningPagesOfTheConsoleDecidesNothing(t *testing.T) {
	everywhere(t, nil, func(d *desk) {
		proposal := d.propose(d.gateways[0], "pay.charge", "order-1")
		base := "http://" + d.gateways[0].address
		jar, err := cookiejar.New(nil)
		d.must(err)
		person := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := person.PostForm(base+"/login", url.Values{"token": {approver(0)}})
		d.must(err)
		_ = resp.Body.Close()
		at := "/op/" + string(proposal.OperationID)
		seen := 0
		for _, path := range []string{"/", "/ledger", "/uncertain", "/approvals", "/budgets", at, at + "/conflicts", at + "/approve", at + "/deny", at + "/cancel", at + "/edit", at + "/resolve"} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				req, err := http.NewRequest(method, base+path+"?digest="+url.QueryEscape(string(proposal.Approval.Digest))+"&reason=yes", nil)
				d.must(err)
				resp, err := person.Do(req)
				d.must(err)
				_ = resp.Body.Close()
				if resp.StatusCode == http.StatusOK && resp.Request.URL.Path == path {
					seen++
				}
			}
		}
		if seen < 10 {
			d.Errorf("only %d of the pages were shown to who signed in", seen)
		}
		now, err := d.as(approver(0), d.gateways[1]).Operation(d.Context(), proposal.OperationID)
		d.must(err)
		if now.Status != deed.StatusAwaitingApproval || now.Version != proposal.Version {
			d.Errorf("looking changed it: %s, version %d, was %d", now.Status, now.Version, proposal.Version)
		}
		if requests, _ := d.books("order-1"); requests != 0 {
			d.Errorf("looking sent %d requests", requests)
		}
	})
}

// Sixty-four spenders at two gateways meet a limit for twenty, while it is watched.
func TestSixtyFourSpendersNeverExceedTheLimit(t *testing.T) {
	more := object{
		"budgets": object{"shop": object{"limit": 200, "currency": "EUR"}},
		"tools": object{"shop/pay.charge": object{
			"effect": "non_idempotent", "receipt": object{"system": "shop", "id": "/structuredContent/id"},
			"budget": object{"name": "shop", "amount": "/amount", "currency": "EUR"},
		}},
	}
	everywhere(t, more, func(d *desk) {
		ctx, stop := context.WithCancel(d.Context())
		samples, most := 0, new(big.Rat)
		var watching, spending sync.WaitGroup
		watching.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				list, err := d.as(approver(n), d.gateways[n%2]).Budgets(d.Context())
				if err != nil || len(list.Budgets) != 1 {
					continue
				}
				given, part := new(big.Rat), new(big.Rat)
				for _, text := range []string{list.Budgets[0].Held, list.Budgets[0].Spent} {
					if amount, ok := part.SetString(text); ok {
						given.Add(given, amount)
					}
				}
				if samples++; given.Cmp(most) > 0 {
					most.Set(given)
				}
			}
		})
		told := make([]api.Verdict, 64)
		errs := make([]error, len(told))
		for i := range told {
			spending.Go(func() { told[i], errs[i] = d.call(d.gateways[i%2], "pay.charge", fmt.Sprintf("order-%d", i), 10) })
		}
		spending.Wait()
		stop()
		watching.Wait()
		executed := 0
		for i, v := range told {
			switch {
			case errs[i] != nil:
				d.Error(errs[i])
			case v.Decision == deed.Execute:
				executed++
			case v.Reason != deed.ReasonBudgetExceeded:
				d.Errorf("a payment was answered %s (%s)", v.Decision, v.Reason)
			}
		}
		effects, err := d.fixture.Effects(d.Context(), provider.Selection{})
		d.must(err)
		if executed != 20 || len(effects) != 20 {
			d.Errorf("a limit for 20 let %d through, and the provider counts %d", executed, len(effects))
		}
		if samples == 0 || most.Cmp(big.NewRat(200, 1)) > 0 {
			d.Errorf("in %d samples, %s of 200 were given out at once", samples, most.FloatString(2))
		}
		d.Logf("%d samples, at most %s of 200", samples, most.FloatString(2))
	})
}
