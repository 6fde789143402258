// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
)

// payer is an API that honours no key. It counts what it did.
type payer struct {
	mu      sync.Mutex
	answers []func(http.ResponseWriter)
	effects atomic.Int64
}

func paid(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"id":"ch_1"}`) }
func full(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }
func lost(w http.ResponseWriter) { panic(http.ErrAbortHandler) }

// next says how the next requests are answered; later ones succeed.
func (p *payer) next(answers ...func(http.ResponseWriter)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = answers
}

func (p *payer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	answer := paid
	p.mu.Lock()
	if len(p.answers) > 0 {
		answer, p.answers = p.answers[0], p.answers[1:]
	}
	p.mu.Unlock()
	rec := httptest.NewRecorder()
	defer func() {
		if rec.Code == http.StatusOK {
			p.effects.Add(1)
		}
	}()
	answer(rec)
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

var (
	approver = deed.Principal{Tenant: "acme", Actor: "ada", Rights: []deed.Right{deed.RightRead, deed.RightApprove}}
	resolver = deed.Principal{Tenant: "acme", Actor: "ops", Rights: []deed.Right{deed.RightRead, deed.RightResolve}}
)

// watched is a gate that can be told to look on only, over one ledger.
type watched struct {
	*rig
	p         *payer
	observing atomic.Bool
	consent   atomic.Bool
	// late: what is observed comes after its own deadline. A request that might
	// begin is begun, and recorded.
	late bool
	// first ends a request that is under way since before.
	first func()
}

func watch(t *testing.T) *watched {
	w := &watched{p: &payer{}}
	s := httptest.NewServer(w.p)
	t.Cleanup(s.Close)
	w.rig = build(t, setup{upstream: httpgate.Upstream{URL: s.URL}, routes: []httpgate.Route{{Method: "POST", Pattern: "/charges"}}, rule: func(rule *deed.Rule) {
		rule.Wait = 50 * time.Millisecond
		if w.observing.Load() {
			rule.Mode = deed.ModeObserve
		}
		if w.consent.Load() {
			rule.Approval = &deed.ApprovalRule{}
		}
	}})
	return w
}

func (w *watched) charges(header ...string) got {
	return w.send("POST", "/charges", order1, append(header, "Idempotency-Key", key)...)
}

// looksOn makes the call while calls are only observed.
func (w *watched) looksOn(answers ...func(http.ResponseWriter)) {
	w.t.Helper()
	w.p.next(answers...)
	w.observing.Store(true)
	if w.late {
		w.charges("Deed-Expires-At", "2020-01-01T00:00:00Z")
	} else {
		w.charges()
	}
	w.observing.Store(false)
}

// answered lets the request that is under way end, without an effect.
func (w *watched) answered() {
	if w.first != nil {
		w.first()
	}
}

func (w *watched) record() *deed.Operation {
	w.t.Helper()
	page, err := w.runtime.List(w.t.Context(), resolver, deed.Query{})
	must(w.t, err)
	if len(page.Operations) != 1 {
		w.t.Fatalf("%d operations", len(page.Operations))
	}
	return page.Operations[0]
}

// tells is what the record knows of calls that ran beside it.
func (w *watched) tells() (outcomes []string) {
	w.t.Helper()
	events, err := w.runtime.Events(w.t.Context(), resolver, w.record().ID)
	must(w.t, err)
	for _, e := range events {
		if e.Name == deed.EventObserved {
			var data struct{ Outcome string }
			must(w.t, json.Unmarshal(e.Data, &data))
			outcomes = append(outcomes, data.Outcome)
		}
	}
	return outcomes
}

// A record that waits is not run once more after a request that was only observed,
// whatever it waits for.
func TestARequestThatWasOnlyObservedIsNotSentOnceMoreByTheRecord(t *testing.T) {
	approve := func(w *watched) error {
		op := w.record()
		_, err := w.runtime.Approve(w.t.Context(), approver, op.ID, deed.Consent{Digest: op.Approval.Digest})
		return err
	}
	const observed = "in observe mode"
	for name, c := range map[string]struct {
		waits func(*watched)
		// decides lets it run, as far as a person has to; nil where none has.
		decides func(*watched) error
		decided string // the refusal
		status  int
		reason  string
		beside  int64 // effects before the observed request
	}{
		"a proposal": {
			waits: func(w *watched) {
				w.consent.Store(true)
				w.charges().wants(w.t, 202)
			},
			decides: approve, decided: observed, status: 202, reason: "pending",
		},
		"what was approved": {
			waits: func(w *watched) {
				w.consent.Store(true)
				w.charges().wants(w.t, 202)
				must(w.t, approve(w))
				w.late = true
			},
			status: 409, reason: "twin_unresolved",
		},
		"a failure that may be repeated": {
			waits: func(w *watched) {
				w.p.next(full)
				w.charges().wants(w.t, 429)
				w.late = true
			},
			status: 409, reason: "twin_unresolved",
		},
		"a request under way": {
			waits: func(w *watched) {
				came, end, over := make(chan bool), make(chan bool), make(chan bool)
				w.p.next(func(rec http.ResponseWriter) {
					close(came)
					<-end
					full(rec)
				})
				go func() {
					defer close(over)
					_, _ = w.try("POST", "/charges", order1, "Idempotency-Key", key)
				}()
				<-came
				w.first = func() {
					close(end)
					<-over
				}
			},
			status: 409, reason: "twin_unresolved",
		},
		"a doubt": {
			waits: func(w *watched) {
				w.p.next(lost)
				w.charges().wants(w.t, 409, "Deed-Reason", "outcome_unknown")
			},
			decides: func(w *watched) error {
				_, err := w.runtime.Resolve(w.t.Context(), resolver, w.record().ID, deed.Resolution{Outcome: deed.ResolveNotApplied, Reason: "not there"})
				return err
			},
			decided: observed, status: 409, reason: "outcome_unknown", beside: 1,
		},
	} {
		for outcome, answer := range map[string]func(http.ResponseWriter){"success": paid, "unknown": lost} {
			t.Run(name+", "+outcome, func(t *testing.T) {
				w := watch(t)
				c.waits(w)
				if n := w.p.effects.Load(); n != c.beside {
					t.Fatalf("%d effects before", n)
				}
				w.looksOn(answer)
				w.answered()
				if diff := cmp.Diff([]string{"", outcome}, w.tells()); diff != "" {
					t.Errorf("the record knows (-want +got):\n%s", diff)
				}
				if c.decides != nil {
					if err := c.decides(w); err == nil || !strings.Contains(err.Error(), c.decided) {
						t.Errorf("the decision was answered with %v", err)
					}
				}
				w.charges().wants(t, c.status, "Deed-Reason", c.reason)
				if n := w.p.effects.Load(); n != c.beside+1 {
					t.Errorf("%d effects, want %d", n, c.beside+1)
				}
			})
		}
		t.Run(name+", not sent", func(t *testing.T) {
			w := watch(t)
			c.waits(w)
			w.looksOn(full)
			w.answered()
			if diff := cmp.Diff([]string{"", "refused"}, w.tells()); diff != "" {
				t.Errorf("the record knows (-want +got):\n%s", diff)
			}
			if c.decides != nil {
				must(t, c.decides(w))
			}
			w.charges().wants(t, 200)
			if n := w.p.effects.Load(); n != c.beside+1 {
				t.Errorf("%d effects, want %d", n, c.beside+1)
			}
		})
	}
}
