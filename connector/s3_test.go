// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/deed-run/deed"
)

func s3(t *testing.T) *httptest.Server {
	t.Helper()
	log.SetOutput(io.Discard)
	backend := s3mem.New()
	if err := backend.CreateBucket("invoices"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	t.Cleanup(server.Close)
	return server
}

const s3API = "tools:\n  put_object: {provider: s3/put_object}\n  overwrite: {method: PUT, path: \"/{bucket}/{key}\", body: {text: \"{text}\"}}\n"

func TestAnObjectIsMadeOnce(t *testing.T) {
	proxy := cut(t, s3(t).URL)
	l := newLedger(t, load(t, proxy.URL, s3API), "api/put_object", "{provider: s3/put_object}")
	const args = `{"bucket":"invoices","key":"2026/1042.txt","text":"42 EUR"}`

	proxy.loses(func(r *http.Request) bool { return r.Method == http.MethodPut })
	lost := l.call(t, "invoice-1042-rendering", args)
	if lost.Effective != deed.StatusUncertain {
		t.Fatalf("%s: %s", lost.Effective, lost.Text)
	}
	proxy.loses(func(*http.Request) bool { return false })
	finding, err := l.Reconcile(t.Context(), operator, lost.Operation.ID)
	if err != nil {
		t.Fatal(err)
	}
	if finding.Counted != deed.VerdictFound || finding.Operation.Receipt().RemoteID != "invoices/2026/1042.txt" {
		t.Fatalf("%s (%s, %s): %+v", finding.Counted, finding.Why, finding.Verdict.Evidence, finding.Operation.Receipt())
	}
	if again := l.call(t, "invoice-1042-rendering", args); again.Decision != deed.Replay {
		t.Errorf("%s, %s", again.Decision, again.Reason)
	}
	if requests, _ := proxy.counts(); requests != 1 {
		t.Errorf("%d requests wrote, want 1", requests)
	}
}

func TestAnObjectOfSomebodyElseIsNotTakenForOurs(t *testing.T) {
	server := s3(t)
	l := newLedger(t, load(t, server.URL, s3API), "api/put_object", "{provider: s3/put_object}")
	const args = `{"bucket":"invoices","key":"1043.txt","text":"43 EUR"}`
	if out := l.api.Call(t.Context(), "overwrite", grant(""), []byte(args)); out.Kind != deed.OutcomeSuccess {
		t.Fatal(out.Message)
	}
	answer := l.call(t, "invoice-1043-rendering", args)
	if answer.Effective != deed.StatusUncertain {
		t.Fatalf("a 412 about somebody else's object is %s: %s", answer.Effective, answer.Text)
	}
	finding, err := l.Reconcile(t.Context(), operator, answer.Operation.ID)
	if err != nil {
		t.Fatal(err)
	}
	if finding.Operation.Status != deed.StatusUncertain {
		t.Errorf("%s (%s)", finding.Operation.Status, finding.Why)
	}
}

// After our own lost answer the provider refuses a second write; whose the object is, its metadata tells.
func TestADuplicateThatIsOursIsCommitted(t *testing.T) {
	server := s3(t)
	api := load(t, server.URL, s3API)
	g := grant("")
	g.Marks = deed.Marks{Marker: "ours"}
	const args = `{"bucket":"invoices","key":"1044.txt","text":"44 EUR","deed_marker":"ours"}`
	for i, by := range []string{"", "reconcile:lookup:head_object"} {
		out := api.Call(t.Context(), "put_object", g, []byte(args))
		if out.Kind != deed.OutcomeSuccess || out.Receipt.EstablishedBy != by || out.Receipt.RemoteID != "invoices/1044.txt" {
			t.Errorf("attempt %d: %s %s: %+v", i+1, out.Kind, out.Message, out.Receipt)
		}
	}
}
