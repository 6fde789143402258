// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// follow reads the events of a live page until stop is called.
func (p *person) follow(path string) (events <-chan string, stop func()) {
	p.t.Helper()
	server := httptest.NewServer(p.console)
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	req, err := http.NewRequestWithContext(ctx, "GET", server.URL+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	for _, c := range p.cookies {
		req.AddCookie(c)
	}
	client := server.Client()
	response, err := client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(response.Body)
		name := ""
		for scanner.Scan() {
			if event, ok := strings.CutPrefix(scanner.Text(), "event: "); ok {
				name = event
			}
			if data, ok := strings.CutPrefix(scanner.Text(), "data: "); ok {
				lines <- name + " " + data
			}
		}
	}()
	return lines, func() {
		cancel()
		response.Body.Close()
		for range lines {
		}
		server.Close()
	}
}

// heard moves the clock until a live page says something; false when it ended.
func (r *rig) heard(events <-chan string) (string, bool) {
	r.t.Helper()
	for {
		select {
		case event, more := <-events:
			return event, more
		case <-time.After(2 * time.Millisecond):
			r.clock.Advance(r.options.LookEvery)
		}
	}
}

func TestLivePagesSayWhatIsNew(t *testing.T) {
	r := newRig(t, nil)
	first := r.call(refund, "refund:order-1:first", `{"order_id":"1","amount":1}`, success("re_1")).Operation
	r.clock.Advance(time.Second)
	events, stop := r.as("viewer-token").follow("/ledger/live?status=uncertain&after=" + string(first.ID))
	defer stop()
	r.call(refund, "refund:order-2:first", `{"order_id":"2","amount":1}`, success("re_2"))
	r.call(refund, "refund:order-3:first", `{"order_id":"3","amount":1}`, unknown())
	if got, _ := r.heard(events); got != `new {"count":1,"more":false}` {
		t.Errorf("got %s", got)
	}
	r.store.fail(errDown)
	if got, _ := r.heard(events); got != "trouble {}" {
		t.Errorf("got %s", got)
	}
	r.store.fail(nil)
}

func TestAnOperationThatMovesOnSaysSo(t *testing.T) {
	r := newRig(t, nil)
	op := r.call(refund, "refund:order-1:first", `{"order_id":"1","amount":1}`, unknown()).Operation
	events, stop := r.as("viewer-token").follow("/op/" + string(op.ID) + "/live?version=2&status=uncertain")
	defer stop()
	if _, err := r.rt.Resolve(t.Context(), people["operator-token"], op.ID, deed.Resolution{Outcome: deed.ResolveCommitted, Reason: "seen"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := r.heard(events); got != `changed {"status":"committed"}` {
		t.Errorf("got %s", got)
	}
}

func TestAProposalDecidedElsewhereIsSaidNotVanished(t *testing.T) {
	r := newRig(t, nil)
	op := r.proposal(t)
	events, stop := r.as("second-token").follow("/approvals/live?shown=" + string(op.ID))
	defer stop()
	r.approved(op.ID, "approver-token")
	gone := `approvals {"gone":{"` + string(op.ID) + `":"approved; it is authorized, by anna"},"new":`
	if got, _ := r.heard(events); got != gone+"0}" {
		t.Errorf("got %s", got)
	}
	r.call(payout, "payout:another:one", `{"to":"x"}`, nil)
	if got, _ := r.heard(events); got != gone+"1}" {
		t.Errorf("got %s", got)
	}
}

func TestStreamsEndWithTheSessionAndTheConsole(t *testing.T) {
	r := newRig(t, nil)
	vera := r.as("viewer-token")
	events, stop := vera.follow("/ledger/live?after=op_0")
	defer stop()
	vera.post("/logout", nil)
	if got, _ := r.heard(events); got != "ended {}" {
		t.Errorf("got %s", got)
	}
	if _, more := r.heard(events); more {
		t.Error("the stream goes on")
	}
	events, stop = r.as("viewer-token").follow("/ledger/live?after=op_0")
	defer stop()
	r.console.Close()
	if got, more := r.heard(events); more {
		t.Errorf("got %s of a closed console", got)
	}
}
