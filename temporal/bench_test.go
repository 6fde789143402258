// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
	deedtemporal "github.com/deed-run/deed/temporal"
)

var (
	caller   = deed.Principal{Tenant: "acme", Actor: "orders", Rights: []deed.Right{deed.RightCall}}
	operator = deed.Principal{Tenant: "acme", Actor: "alice", Rights: []deed.Right{deed.RightRead, deed.RightResolve, deed.RightApprove}}
)

const refundTool = deed.Tool("temporal/Refund")

// bench is a worker with a guard over a ledger in a file.
type bench struct {
	t      *testing.T
	ledger *sqlite.Ledger
	rules  deed.FixedPolicy
	rt     *deed.Runtime
	guard  deedtemporal.Options
	// outer stand between Temporal and the guard.
	outer []interceptor.WorkerInterceptor
}

func newBench(t *testing.T) *bench {
	t.Helper()
	ledger, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, ledger: ledger, rules: deed.FixedPolicy{}}
	b.rt = b.runtime()
	b.guard = deedtemporal.Options{Runtime: b.rt, Principal: caller}
	t.Cleanup(func() {
		if err := ledger.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// runtime is another worker's, on the same ledger.
func (b *bench) runtime() *deed.Runtime {
	b.t.Helper()
	rt, err := deed.New(deed.Options{Store: b.ledger, Policy: b.rules})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			b.t.Error(err)
		}
	})
	return rt
}

func (b *bench) rule(change func(*deed.Rule)) {
	rule := deed.DefaultRule(refundTool)
	change(&rule)
	b.rules[refundTool] = rule
}

func (b *bench) options() worker.Options {
	b.t.Helper()
	guard, err := deedtemporal.New(b.guard)
	if err != nil {
		b.t.Fatal(err)
	}
	return worker.Options{Interceptors: append(b.outer, guard)}
}

// workflow returns an environment in which the Activities of p run.
func (b *bench) workflow(p *payments) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(b.options())
	env.SetTestTimeout(time.Minute)
	env.RegisterActivity(p)
	return env
}

// only returns the ledger's only operation.
func (b *bench) only() *deed.Operation {
	b.t.Helper()
	page, err := b.rt.List(context.Background(), operator, deed.Query{})
	if err != nil {
		b.t.Fatal(err)
	}
	if len(page.Operations) != 1 {
		b.t.Fatalf("the ledger holds %d operations", len(page.Operations))
	}
	op, err := b.rt.Get(context.Background(), operator, page.Operations[0].ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return op
}

type refund struct {
	Order  string `json:"order"`
	Amount int    `json:"amount"`
}

type refunded struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
}

// payments is a provider that counts what it does.
type payments struct {
	mu   sync.Mutex
	paid []refund
	// after is asked once the money has gone; its error is the Activity's.
	after func(ctx context.Context, times int) error
	// before is asked first.
	before func(ctx context.Context, times int) error
	calls  int
}

// Refund is the Activity.
func (p *payments) Refund(ctx context.Context, r refund) (refunded, error) {
	p.mu.Lock()
	p.calls++
	calls := p.calls
	p.mu.Unlock()
	if p.before != nil {
		if err := p.before(ctx, calls); err != nil {
			return refunded{}, err
		}
	}
	p.mu.Lock()
	p.paid = append(p.paid, r)
	times := len(p.paid)
	p.mu.Unlock()
	deedtemporal.SetReceipt(ctx, deed.Receipt{RemoteSystem: "payments", RemoteID: "re_1"})
	if p.after != nil {
		if err := p.after(ctx, times); err != nil {
			return refunded{}, err
		}
	}
	return refunded{ID: "re_1", Amount: r.Amount}, nil
}

func (p *payments) want(t *testing.T, effects ...refund) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.paid) != len(effects) {
		t.Fatalf("the provider paid %v, want %v", p.paid, effects)
	}
	for i, effect := range effects {
		if p.paid[i] != effect {
			t.Errorf("payment %d is %v, want %v", i+1, p.paid[i], effect)
		}
	}
}

var order = refund{Order: "1042", Amount: 12}

const key = "refund:order-1042:1"

// refundOnce is the Workflow of most tests.
func refundOnce(ctx workflow.Context, r refund) (refunded, error) {
	var done refunded
	err := workflow.ExecuteActivity(deedtemporal.WithKey(patient(ctx), key), "Refund", r).Get(ctx, &done)
	return done, err
}

// patient starts Activities that are tried again for days, once a minute. The
// test environment gives up after ten attempts unless it is told how many.
func patient(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Hour, ScheduleToCloseTimeout: 240 * time.Hour,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Minute, BackoffCoefficient: 1, MaximumAttempts: 100},
	})
}

// brief starts Activities that are tried three times.
func brief(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Hour, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 3},
	})
}
