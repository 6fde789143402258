// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
	"github.com/deed-run/deed/storetest"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// The people of the tests, by their bearer tokens.
var people = map[string]deed.Principal{
	"viewer-token":   {Tenant: "acme", Actor: "vera", Rights: []deed.Right{deed.RightRead}},
	"approver-token": {Tenant: "acme", Actor: "anna", Rights: []deed.Right{deed.RightRead, deed.RightApprove}},
	"second-token":   {Tenant: "acme", Actor: "ben", Rights: []deed.Right{deed.RightRead, deed.RightApprove}},
	"operator-token": {Tenant: "acme", Actor: "olga", Rights: []deed.Right{deed.RightRead, deed.RightApprove, deed.RightResolve}},
	"agent-token":    {Tenant: "acme", Actor: "support-agent", Rights: []deed.Right{deed.RightCall}},
	"stranger-token": {Tenant: "globex", Actor: "sam", Rights: []deed.Right{deed.RightRead, deed.RightApprove, deed.RightResolve}},
}

// The tools: one that changes things, one that people approve, one of low risk
// that people approve, one for which two must agree.
const (
	refund  deed.Tool = "payments/refund"
	payout  deed.Tool = "payments/payout"
	label   deed.Tool = "crm/set_label"
	payroll deed.Tool = "payments/payroll"
)

func rules() deed.FixedPolicy {
	rule := func(change func(*deed.Rule)) deed.Rule {
		r := deed.DefaultRule("")
		r.Wait, r.Account = -1, "live-42"
		r.Timeout = time.Minute
		if change != nil {
			change(&r)
		}
		return r
	}
	budget := deed.Budget{Name: "refunds", Limit: 1_000_000_000, Currency: "EUR", Window: 24 * time.Hour}
	return deed.FixedPolicy{
		refund: rule(func(r *deed.Rule) {
			r.Matter = []string{"/order_id"}
			r.GiveUp = time.Hour
			r.Spend = &deed.SpendRule{Budget: budget, Amount: amountOf}
		}),
		payout: rule(func(r *deed.Rule) {
			r.Matter = []string{"/to"}
			r.Approval = &deed.ApprovalRule{Expires: 4 * time.Hour}
		}),
		label: rule(func(r *deed.Rule) {
			r.Effect = deed.EffectIdempotent
			r.Approval = &deed.ApprovalRule{OnCall: true}
		}),
		payroll: rule(func(r *deed.Rule) { r.Approval = &deed.ApprovalRule{Quorum: 2} }),
	}
}

// rig is a Console over a real Runtime and ledger. Its clock stands still until it
// is moved.
type rig struct {
	t       testing.TB
	clock   *storetest.Clock
	ledger  ledger
	store   *faulty
	rt      *deed.Runtime
	probe   *probe
	tally   *console.Tally
	options console.Options
	console *console.Console
}

// faulty is a store that can be made to fail.
type faulty struct {
	deed.Store
	mu     sync.Mutex
	broken error
	// damaged is the operation whose arguments were changed in the ledger.
	damaged deed.OperationID
}

func (f *faulty) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = err
}

func (f *faulty) List(ctx context.Context, q deed.Query) (deed.Page, error) {
	f.mu.Lock()
	broken := f.broken
	f.mu.Unlock()
	if broken != nil {
		return deed.Page{}, broken
	}
	return f.Store.List(ctx, q)
}

// probe is the provider as look-ups see it.
type probe struct{ verdict deed.Verdict }

func (p *probe) Probe(context.Context, deed.Inquest) (deed.Verdict, error) { return p.verdict, nil }

// hearing is an Observer that only counts.
type hearing struct{ tally *console.Tally }

func (hearing) CallStarted(ctx context.Context, _ deed.Call) context.Context { return ctx }
func (hearing) CallAnswered(context.Context, deed.Call, deed.Answer)         {}
func (h hearing) Recorded(ctx context.Context, e deed.Event)                 { h.tally.Recorded(ctx, e) }
func (hearing) Violated(context.Context, string)                             {}

func newRig(t testing.TB, change func(*console.Options)) *rig {
	t.Helper()
	r := &rig{t: t, clock: storetest.NewClock(noon), probe: &probe{verdict: deed.Verdict{Kind: deed.VerdictUndetermined, Strategy: "search"}}}
	r.ledger = openLedger(t, r.clock)
	t.Cleanup(func() {
		if err := r.ledger.Close(); err != nil {
			t.Error(err)
		}
	})
	r.store, r.tally = &faulty{Store: r.ledger}, console.NewTally(r.clock)
	var err error
	r.rt, err = deed.New(deed.Options{
		Store: r.store, Clock: r.clock, Policy: rules(), Reconciler: r.probe, Observer: hearing{r.tally}, StrictAudit: true, CheckEdited: amountIsANumber,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.rt.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	r.options = console.Options{
		Runtime: r.rt, Probes: r.rt, Clock: r.clock, Tally: r.tally,
		Tokens: byHash, Sessions: r.ledger,
		Budgets: func(ctx context.Context, who deed.Principal) ([]deed.BudgetStatus, error) {
			return r.rt.Budgets(ctx, who, []deed.Budget{rules()[refund].Spend.Budget})
		},
		Health:    func(context.Context) error { return nil },
		TraceURL:  "https://traces.example/trace/{trace_id}",
		LookEvery: 50 * time.Millisecond,
	}
	if change != nil {
		change(&r.options)
	}
	if r.console, err = console.New(r.options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.console.Close)
	return r
}

// beside is another gateway's console on the same ledger.
func (r *rig) beside(change func(*console.Options)) *rig {
	r.t.Helper()
	next := *r
	if change != nil {
		change(&next.options)
	}
	var err error
	if next.console, err = console.New(next.options); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(next.console.Close)
	return &next
}

// byHash finds one of the people.
func byHash(sum string) (deed.Principal, bool) {
	for token, who := range people {
		if is := sha256.Sum256([]byte(token)); hex.EncodeToString(is[:]) == sum {
			return who, true
		}
	}
	return deed.Principal{}, false
}

// amountIsANumber stands for the input schemas of the tools.
func amountIsANumber(_ context.Context, _ *deed.Operation, arguments []byte) (string, error) {
	if strings.Contains(string(arguments), `"amount":"`) {
		return "at '/amount': got string, want number", nil
	}
	if strings.Contains(string(arguments), `"amount":404`) {
		return "", errors.New("its server did not say what it takes")
	}
	return "", nil
}

func amountOf(arguments []byte) (deed.Amount, error) {
	_, rest, found := strings.Cut(string(arguments), `"amount":`)
	if !found {
		return 0, nil
	}
	end := strings.IndexAny(rest, ",}")
	return deed.ParseAmount(strings.TrimSpace(rest[:end]))
}

var agent = deed.Principal{Tenant: "acme", Actor: "support-agent", Rights: []deed.Right{deed.RightCall}}

func callOf(tool deed.Tool, key, arguments string) deed.Call {
	return deed.Call{Principal: agent, Tool: tool, Key: deed.OperationKey(key), Arguments: []byte(arguments), Facts: deed.ToolFacts{UpstreamIdentity: "live-42"}}
}

// call runs a call to the given outcome; without one it is only claimed.
func (r *rig) call(tool deed.Tool, key, arguments string, out *deed.Outcome) deed.Answer {
	r.t.Helper()
	return r.make(callOf(tool, key, arguments), out)
}

func (r *rig) make(call deed.Call, out *deed.Outcome) deed.Answer {
	r.t.Helper()
	answer, grant, err := r.rt.Claim(r.t.Context(), call)
	if err != nil {
		r.t.Fatal(err)
	}
	if grant == nil || out == nil {
		return answer
	}
	if answer, err = r.rt.Settle(r.t.Context(), grant, *out); err != nil {
		r.t.Fatal(err)
	}
	return answer
}

func success(id string) *deed.Outcome {
	return &deed.Outcome{
		Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteSystem: "payments", RemoteID: id, RemoteURL: "https://pay.example/" + id},
		Result: []byte(`{"id":"` + id + `","status":"succeeded"}`),
	}
}

func unknown() *deed.Outcome {
	return &deed.Outcome{Kind: deed.OutcomeUnknown, Message: "the connection broke after 412 bytes of the request"}
}

// person is a browser without scripts.
type person struct {
	*rig
	cookies []*http.Cookie
}

func (r *rig) as(token string) *person {
	r.t.Helper()
	p := &person{rig: r}
	w := p.post("/login", url.Values{"token": {token}})
	if w.Code != http.StatusSeeOther {
		r.t.Fatalf("logging in with %s: HTTP %d: %s", token, w.Code, w.Body)
	}
	p.cookies = w.Result().Cookies()
	return p
}

func (p *person) send(req *http.Request) *httptest.ResponseRecorder {
	p.t.Helper()
	req.Host = "localhost:7391"
	if req.RemoteAddr == "192.0.2.1:1234" {
		req.RemoteAddr = "127.0.0.1:50000"
	}
	for _, c := range p.cookies {
		req.AddCookie(c)
	}
	w := httptest.NewRecorder()
	p.console.ServeHTTP(w, req)
	return w
}

func (p *person) get(path string) *httptest.ResponseRecorder {
	p.t.Helper()
	return p.send(httptest.NewRequest("GET", path, nil))
}

// page is get, of a page that must be there.
func (p *person) page(path string) string {
	p.t.Helper()
	w := p.get(path)
	if w.Code != http.StatusOK {
		p.t.Fatalf("GET %s: HTTP %d: %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

func (p *person) post(path string, form url.Values) *httptest.ResponseRecorder {
	p.t.Helper()
	req := httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	return p.send(req)
}

// status reads where an operation stands.
func (r *rig) status(id deed.OperationID) deed.Status {
	r.t.Helper()
	op, err := r.rt.Get(r.t.Context(), people["operator-token"], id)
	if err != nil {
		r.t.Fatal(err)
	}
	return op.EffectiveStatus(r.clock.Now())
}

// want checks that a text holds all of these.
func want(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

var errDown = errors.Join(deed.ErrUnavailable, errors.New("disk I/O error at /var/lib/secret-place"))
