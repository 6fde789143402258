// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
	"github.com/deed-run/deed/storetest"
)

// handling is a handler of which the test says what it does.
type handling struct {
	effects atomic.Int64
	do      func(w http.ResponseWriter, r *http.Request)
}

func (h *handling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.effects.Add(1)
	h.do(w, r)
}

func TestAHandlerRunsOncePerKey(t *testing.T) {
	var seen httpgate.Attempt
	h := &handling{do: func(w http.ResponseWriter, r *http.Request) {
		seen, _ = httpgate.AttemptFrom(r.Context())
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Made", r.URL.Path)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(append([]byte("made "), body...))
	}}
	r := build(t, setup{routes: anyRoute(), handler: h})
	first := r.send("POST", "/do/it", order1, "Idempotency-Key", key)
	first.wants(t, 201, "X-Made", "/do/it", "Deed-Status", "committed", "Deed-Operation", string(seen.Operation))
	again := r.send("POST", "/do/it", order1, "Idempotency-Key", key)
	again.wants(t, 201, "X-Made", "/do/it", "Idempotent-Replayed", "true", "Content-Type", first.header.Get("Content-Type"))
	if again.body != "made "+order1 || first.body != again.body || h.effects.Load() != 1 {
		t.Errorf("%q, then %q, after %d effects", first.body, again.body, h.effects.Load())
	}
	r.send("GET", "/do/it", "").wants(t, 201)
	r.send("GET", "/anything", "").wants(t, 201)
	if h.effects.Load() != 3 {
		t.Error("reads do not pass")
	}
}

func TestAHandlerThatEndsBadlyIsUncertain(t *testing.T) {
	for name, do := range map[string]func(http.ResponseWriter, *http.Request){
		"panics":                 func(http.ResponseWriter, *http.Request) { panic("boom") },
		"aborts":                 func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"panics amid its answer": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("half")); panic("boom") },
		"answers 500":            func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"answers 302":            func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) },
		"answers less than it says": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = w.Write([]byte("half"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &handling{do: do}
			r := build(t, setup{routes: anyRoute(), handler: h})
			r.send("POST", "/do/it", order1, "Idempotency-Key", key).wants(t, 409, "Deed-Status", "uncertain")
			r.send("POST", "/do/it", order1, "Idempotency-Key", key).wants(t, 409, "Deed-Reason", "outcome_unknown")
			if h.effects.Load() != 1 {
				t.Errorf("%d effects", h.effects.Load())
			}
		})
	}
}

func TestACallerThatLeavesDoesNotEndTheHandler(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	h := &handling{do: func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-leave
		if r.Context().Err() != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, "done")
	}}
	r := build(t, setup{routes: anyRoute(), handler: h})
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/do/it", strings.NewReader(order1))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", key)
		_, err := r.client.Do(req)
		gone <- err
	}()
	<-entered
	cancel()
	if err := <-gone; err == nil {
		t.Fatal("the caller stayed")
	}
	close(leave)
	g := r.send("POST", "/do/it", order1, "Idempotency-Key", key)
	g.wants(t, 200, "Idempotent-Replayed", "true")
	if g.body != "done" || h.effects.Load() != 1 {
		t.Errorf("%q after %d effects", g.body, h.effects.Load())
	}
}

func TestAnAnswerThatTakesLongIsFetchedLater(t *testing.T) {
	clock := storetest.NewClock(time.Date(2026, 9, 8, 12, 0, 0, 0, time.UTC))
	entered, leave := make(chan struct{}), make(chan struct{})
	h := &handling{do: func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		_, _ = io.WriteString(w, "done")
	}}
	ledger := hook()
	close(ledger.hold)
	r := build(t, setup{routes: anyRoute(), handler: h, clock: clock, edit: ledger.in})
	first := make(chan got, 1)
	go func() { g, _ := r.try("POST", "/do/it", order1, "Idempotency-Key", key); first <- g }()
	<-entered
	patient(t, clock, first, 50*time.Second).wants(t, 409, "Deed-Decision", "in_progress", "Retry-After", "25")
	close(leave)
	<-ledger.settled
	r.send("POST", "/do/it", order1, "Idempotency-Key", key).wants(t, 200, "Idempotent-Replayed", "true")
}

func TestASilentHandlerIsUncertainAndItsLateProofStillCounts(t *testing.T) {
	clock := storetest.NewClock(time.Date(2026, 9, 8, 12, 0, 0, 0, time.UTC))
	entered, leave := make(chan struct{}), make(chan struct{})
	h := &handling{do: func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		_, _ = io.WriteString(w, "done")
	}}
	ledger := hook()
	close(ledger.hold)
	r := build(t, setup{routes: anyRoute(), handler: h, clock: clock, edit: ledger.in, rule: func(rule *deed.Rule) {
		rule.Timeout, rule.AnswerWithin = 20*time.Second, time.Minute
	}})
	first := make(chan got, 1)
	go func() { g, _ := r.try("POST", "/do/it", order1, "Idempotency-Key", key); first <- g }()
	<-entered
	patient(t, clock, first, 20*time.Second).wants(t, 409, "Deed-Status", "uncertain")
	<-ledger.settled
	close(leave)
	if late := <-ledger.settled; late.Effective != deed.StatusCommitted {
		t.Errorf("%s", late.Effective)
	}
	r.send("POST", "/do/it", order1, "Idempotency-Key", key).wants(t, 200, "Idempotent-Replayed", "true")
	if h.effects.Load() != 1 {
		t.Errorf("%d effects", h.effects.Load())
	}
}

// patient moves a clock until there is an answer.
func patient(t *testing.T, clock *storetest.Clock, answers <-chan got, limit time.Duration) got {
	t.Helper()
	for clock.WaitingFor(limit) == 0 {
		runtime.Gosched()
	}
	clock.Advance(limit)
	return <-answers
}

func TestObservingLetsEverythingRunAndSaysWhatWouldBe(t *testing.T) {
	h := &handling{do: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") }}
	for name, store := range map[string]deed.Store{"with a ledger": nil, "without one": downStore{}} {
		t.Run(name, func(t *testing.T) {
			h.effects.Store(0)
			r := build(t, setup{handler: h, store: store, routes: []httpgate.Route{{Method: "POST", Pattern: "/do/*", MaxBody: 100}},
				rule: func(rule *deed.Rule) { rule.Mode = deed.ModeObserve }})
			for i, c := range []struct{ body, key string }{
				{order1, key}, {order1, key}, {"{not json", key}, {order1, ""}, {order1, "bad key"}, {strings.Repeat("x", 200), key},
			} {
				g := r.send("POST", "/do/it", c.body, keyed(c.key, "")...)
				g.wants(t, 200)
				if i > 0 && g.header.Get("Deed-Would-Be") == "" {
					t.Errorf("%d: %v", i, g.header)
				}
			}
			if h.effects.Load() != 6 {
				t.Errorf("%d effects", h.effects.Load())
			}
		})
	}
}

func TestWithoutALedgerNothingRunsAndReadsPass(t *testing.T) {
	h := &handling{do: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") }}
	r := build(t, setup{handler: h, store: downStore{}, routes: append(anyRoute(), httpgate.Route{Method: "GET", Pattern: "/look"})})
	r.send("POST", "/do/it", order1, "Idempotency-Key", key).wants(t, 503, "Deed-Reason", "store_unavailable", "Retry-After", "1")
	if h.effects.Load() != 0 {
		t.Error("it ran")
	}
	r.send("GET", "/look", "").wants(t, 200)
	r.send("GET", "/other", "").wants(t, 200)
}

// downStore is a ledger that cannot be reached.
type downStore struct{ deed.Store }

func (downStore) Transact(context.Context, deed.Scope, func(deed.View) (deed.Change, error)) (deed.View, error) {
	return deed.View{}, deed.ErrUnavailable
}
func (downStore) Load(context.Context, deed.Scope) (deed.View, error) {
	return deed.View{}, deed.ErrUnavailable
}
func (downStore) Append(context.Context, []deed.Event, deed.Durability) error {
	return deed.ErrUnavailable
}
func (downStore) Setting(context.Context, string, func([]byte) []byte) ([]byte, error) {
	return nil, deed.ErrUnavailable
}

func TestARouteThatIsAToolSharesItsOperations(t *testing.T) {
	var seen []string
	s := echo(t, &seen)
	r := build(t, setup{upstream: httpgate.Upstream{URL: s.URL}, rule: func(rule *deed.Rule) { rule.Account = "live-42" }, routes: []httpgate.Route{{
		Method: "POST", Pattern: "/orders/{order}/refunds", As: "payments/refund", Query: []string{"mode"},
	}}})
	const path = "/orders/7%209/refunds?mode=fast"
	r.send("POST", path, "{ \"amount\":1.50 }", "Idempotency-Key", key).wants(t, 200)
	if want := "POST " + path + " application/json { \"amount\":1.50 }"; len(seen) != 1 || seen[0] != want {
		t.Errorf("the upstream got %q, want %q", seen, want)
	}
	who := deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead}}
	call := deed.Call{Principal: who, Tool: "payments/refund", Key: deed.OperationKey(key), Arguments: []byte(`{"amount":1.5,"mode":"fast","order":"7 9"}`)}
	answer, _, err := r.runtime.Claim(t.Context(), call)
	must(t, err)
	if answer.Decision != deed.Replay {
		t.Fatalf("%s(%s)", answer.Decision, answer.Reason)
	}
	var result struct {
		Content    []struct{ Text string }
		Structured struct{ ID string } `json:"structuredContent"`
	}
	must(t, json.Unmarshal(answer.Result, &result))
	if result.Structured.ID != "x1" || !strings.HasPrefix(result.Content[0].Text, "{") {
		t.Errorf("%s", answer.Result)
	}
	r.send("POST", path, `{"amount":1.5}`, "Idempotency-Key", key).wants(t, 200, "Idempotent-Replayed", "true", "X-Trace", "t1")
	r.send("POST", path, `{"amount":1.5,"order":"7 9"}`, "Idempotency-Key", key).wants(t, 400)
	r.send("POST", path+"&x=1", `{"amount":1.5}`, "Idempotency-Key", key).wants(t, 400)

	// Begun by a program, recovered over HTTP.
	call.Key, call.Arguments = deed.OperationKey(other), []byte(`{"order":"8","amount":2}`)
	_, err = r.runtime.Do(t.Context(), call, func(context.Context, deed.Attempt) (deed.Receipt, error) {
		return deed.Receipt{RemoteID: "r8", Result: json.RawMessage(`{"content":[],"structuredContent":{"id":"r8"}}`)}, nil
	})
	must(t, err)
	g := r.send("POST", "/orders/8/refunds", `{"amount":2}`, "Idempotency-Key", other)
	g.wants(t, 200, "Idempotent-Replayed", "true", "Content-Type", "application/json")
	if g.body != `{"id":"r8"}` || len(seen) != 1 {
		t.Errorf("%s after %d requests", g.body, len(seen))
	}
}
