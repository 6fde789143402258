// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/server"
	"github.com/deed-run/deed/sqlite"
	"github.com/deed-run/deed/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// The callers of the tests, by their bearer tokens.
var principals = map[string]deed.Principal{
	"agent":    {Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall}},
	"other":    {Tenant: "acme", Actor: "other", Rights: []deed.Right{deed.RightCall}},
	"reader":   {Tenant: "acme", Actor: "reader", Rights: []deed.Right{deed.RightCall, deed.RightRead}},
	"approver": {Tenant: "acme", Actor: "ada", Rights: []deed.Right{deed.RightRead, deed.RightApprove}},
	"operator": {Tenant: "acme", Actor: "ops", Rights: []deed.Right{deed.RightRead, deed.RightResolve}},
	"idle":     {Tenant: "acme", Actor: "idle"},
	"stranger": {Tenant: "globex", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead, deed.RightResolve}},
}

func byToken(r *http.Request) (deed.Principal, bool) {
	who, known := principals[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	return who, known
}

const (
	tool     = "pay/refund"
	firstKey = "refund:order-1042:first"
	refund12 = `{"arguments":{"order_id":"1042","amount":12},"meta":{"conversation":"c1"}}`
)

// rig is a Server over a real Runtime, with a tool that counts.
type rig struct {
	t      *testing.T
	clock  *storetest.Clock
	store  deed.Store
	rule   deed.Rule
	rt     *deed.Runtime
	server *server.Server
	tools  *tools
	// fence is the one that stands, nil for none.
	fence *api.Fence
	// contract is the OpenAPI document, which every answer must fit.
	contract *contract
}

// newRig makes one whose tool is ruled as change says. Nobody waits for live
// attempts: the clock stands still.
func newRig(t *testing.T, change func(*deed.Rule)) *rig {
	t.Helper()
	clock := storetest.NewClock(noon)
	return newRigOver(t, clock, storetest.NewMemory(clock), change)
}

func newRigOver(t *testing.T, clock *storetest.Clock, store deed.Store, change func(*deed.Rule)) *rig {
	t.Helper()
	r := &rig{t: t, clock: clock, store: store, rule: deed.DefaultRule(tool)}
	r.rule.Wait = -1
	if change != nil {
		change(&r.rule)
	}
	r.restart()
	return r
}

// onEveryStore runs a test on the reference store and on the SQLite ledger.
func onEveryStore(t *testing.T, change func(*deed.Rule), test func(*rig)) {
	t.Run("memory", func(t *testing.T) { test(newRig(t, change)) })
	t.Run("sqlite", func(t *testing.T) {
		clock := storetest.NewClock(noon)
		ledger, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := ledger.Close(); err != nil {
				t.Error(err)
			}
		})
		test(newRigOver(t, clock, ledger, change))
	})
}

// restart puts another process over the same ledger.
func (r *rig) restart() {
	r.t.Helper()
	r.tools = &tools{}
	policy := deed.FixedPolicy{tool: r.rule}
	rt, err := deed.New(deed.Options{Store: r.store, Clock: r.clock, Policy: policy, Reconciler: r.tools})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			r.t.Error(err)
		}
	})
	r.rt, r.tools.rt = rt, rt
	r.server, err = server.New(server.Options{
		Runtime: rt, Auth: byToken, Tools: r.tools, Policy: policy, Clock: r.clock, Build: "test",
		Run: r.tools.run, Budgets: []deed.Budget{refunds}, Fence: func() *api.Fence { return r.fence },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if r.contract == nil {
		r.contract = contractOf(r.t, r.server)
	}
}

// tools is one configured tool, pay/refund, that pays as often as it is sent.
type tools struct {
	rt      *deed.Runtime
	effects atomic.Int64
	// outcome, when set, is how the next dispatches end.
	outcome *deed.Outcome
	// sending, when set, is what happens as a call is sent.
	sending func()
	// identity, when set, is where the calls go.
	identity string
	// scripted, when set, is answered to every call in place of a dispatch.
	scripted *deed.Answer
}

// refunds is a budget for what the tool pays.
var refunds = deed.Budget{Name: "refunds", Limit: 100_000_000, Currency: "EUR", Window: 24 * time.Hour}

// Probe finds nothing that it could read.
func (f *tools) Probe(context.Context, deed.Inquest) (deed.Verdict, error) {
	return deed.Verdict{Kind: deed.VerdictUndetermined, Strategy: "list", Evidence: "the list does not answer"}, nil
}

func (f *tools) run(ctx context.Context, who deed.Principal, op *deed.Operation) (deed.Answer, error) {
	call, err := f.rt.CallOf(ctx, who, op.ID)
	if err != nil {
		return deed.Answer{}, err
	}
	return f.Call(ctx, call)
}

func (f *tools) Call(ctx context.Context, call deed.Call) (deed.Answer, error) {
	if call.Tool != tool {
		return deed.Answer{}, fmt.Errorf("%s: %w", call.Tool, server.ErrUnknownTool)
	}
	if f.scripted != nil {
		a := *f.scripted
		a.Principal = call.Principal
		return a, nil
	}
	call.Facts.UpstreamIdentity = f.identity
	a, grant, err := f.rt.Claim(ctx, call)
	if err != nil || grant == nil {
		return a, err
	}
	if f.sending != nil {
		f.sending()
	}
	if f.outcome != nil {
		return f.rt.Settle(ctx, grant, *f.outcome)
	}
	id := fmt.Sprintf("re_%d", f.effects.Add(1))
	return f.rt.Settle(ctx, grant, deed.Outcome{
		Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteSystem: "pay", RemoteID: id}, Result: []byte(`{"id": "` + id + `", "big": 12345678901234567890}`),
	})
}

// request is one request of a caller.
type request struct {
	as, method, path, key, body string
	header                      map[string]string
}

func (r *rig) do(q request) *response {
	r.t.Helper()
	if q.as == "" {
		q.as = "agent"
	}
	req := httptest.NewRequest(q.method, q.path, strings.NewReader(q.body))
	req.Header.Set("Authorization", "Bearer "+q.as)
	if q.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if q.key != "" {
		req.Header.Set("Idempotency-Key", q.key)
	}
	for name, value := range q.header {
		req.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	r.server.ServeHTTP(w, req)
	r.contract.fits(r.t, q.method, q.path, w)
	return &response{t: r.t, ResponseRecorder: w}
}

func (r *rig) post(path, body string) *response {
	r.t.Helper()
	return r.do(request{method: "POST", path: path, body: body})
}

func (r *rig) get(as, path string) *response {
	r.t.Helper()
	return r.do(request{as: as, method: "GET", path: path})
}

func (r *rig) call(key, body string) *response {
	r.t.Helper()
	return r.do(request{method: "POST", path: "/v1/tools/pay/refund/calls", key: key, body: body})
}

type response struct {
	t *testing.T
	*httptest.ResponseRecorder
}

// into reads the body and checks the code.
func (r *response) into(code int, body any) *response {
	r.t.Helper()
	if r.Code != code {
		r.t.Fatalf("HTTP %d, want %d: %s", r.Code, code, r.Body)
	}
	if err := json.Unmarshal(r.Body.Bytes(), body); err != nil {
		r.t.Fatalf("%v in %s", err, r.Body)
	}
	return r
}

// problem reads a problem and checks that its status is the code.
func (r *response) problem(code int) api.Problem {
	r.t.Helper()
	var p api.Problem
	r.into(code, &p)
	if kind := r.Header().Get("Content-Type"); kind != "application/problem+json" || p.Status != code || p.Title == "" || p.Type == "" {
		r.t.Errorf("%s is no problem of RFC 9457: %s", kind, r.Body)
	}
	return p
}

// want checks code, decision and reason of a problem.
func (r *response) want(code int, decision deed.Decision, reason deed.Reason) api.Problem {
	r.t.Helper()
	p := r.problem(code)
	if p.Decision != decision || p.Reason != reason {
		r.t.Errorf("got %s(%s), want %s(%s): %s", p.Decision, p.Reason, decision, reason, r.Body)
	}
	return p
}

func compact(t *testing.T, doc []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, doc); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
