// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

// The calls are those of a payment tool: each is another payment, under a key
// that a model wrote.
const (
	benchTool = deed.Tool("payments/charge")
	system    = "payments"
)

func principal() deed.Principal {
	return deed.Principal{Tenant: "bench", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead}}
}

// payment is the n-th call of a run.
func payment(run string, n int) deed.Call {
	return deed.Call{
		Principal: principal(),
		Tool:      benchTool,
		Arguments: fmt.Appendf(nil, `{"order_id":"order-%s-%07d","amount":%d.50,"currency":"EUR","note":"monthly invoice, net 14 days"}`, run, n, n%900+100),
		Carriers: []deed.Carrier{{
			Provenance: deed.ProvenanceModel, Identity: deed.OperationKey(paymentKey(run, n)), Name: "idempotency_key",
		}},
		Facts: deed.ToolFacts{UpstreamIdentity: "stdio:payments"},
	}
}

func paymentKey(run string, n int) string { return fmt.Sprintf("pay-%s-order-%07d", run, n) }

// paid is what the provider would have answered.
func paid(run string, n int) deed.Outcome {
	id := fmt.Sprintf("ch_%s%09d", run, n)
	return deed.Outcome{
		Kind:    deed.OutcomeSuccess,
		Receipt: deed.Receipt{RemoteSystem: system, RemoteID: id},
		Result:  fmt.Appendf(nil, `{"content":[{"type":"text","text":"charged: %s"}],"structuredContent":{"id":"%s","status":"succeeded"}}`, id, id),
	}
}

// rules are the defaults, without the limit on calls per minute.
func rules() deed.Policy {
	rule := deed.DefaultRule(benchTool)
	rule.Rate = deed.Limit{N: 1 << 30, Per: time.Second}
	rule.Revision = "bench"
	return deed.FixedPolicy{benchTool: rule}
}

// guarded is a Runtime on a ledger of its own.
type guarded struct {
	path    string
	ledger  *sqlite.Ledger
	runtime *deed.Runtime
}

func openGuarded(ctx context.Context, path string) (*guarded, error) {
	ledger, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	runtime, err := deed.New(deed.Options{Store: ledger, Policy: rules(), Worker: "bench"})
	if err != nil {
		return nil, errors.Join(err, ledger.Close())
	}
	return &guarded{path: path, ledger: ledger, runtime: runtime}, nil
}

func (g *guarded) close(ctx context.Context) error {
	return errors.Join(g.runtime.Close(ctx), g.ledger.Close())
}

// operate runs the n-th payment to its end: claimed, performed by nobody,
// settled, delivered.
func (g *guarded) operate(ctx context.Context, run string, n int) error {
	answer, grant, err := g.runtime.Claim(ctx, payment(run, n))
	if err != nil {
		return err
	}
	if grant == nil {
		return fmt.Errorf("payment %d of %s was not granted: %s %s %s", n, run, answer.Decision, answer.Reason, answer.Text)
	}
	if err := grant.MaySend(); err != nil {
		return errors.Join(err, fmt.Errorf("payment %d of %s is left to its lease", n, run))
	}
	answer, err = g.runtime.Settle(ctx, grant, paid(run, n))
	if err != nil {
		return err
	}
	if answer.Effective != deed.StatusCommitted {
		return fmt.Errorf("payment %d of %s is %s: %s", n, run, answer.Effective, answer.Text)
	}
	g.runtime.Delivered(ctx, answer)
	return nil
}

// replay repeats the n-th payment and expects its record.
func (g *guarded) replay(ctx context.Context, run string, n int) error {
	answer, grant, err := g.runtime.Claim(ctx, payment(run, n))
	switch {
	case err != nil:
		return err
	case grant != nil || answer.Decision != deed.Replay:
		return fmt.Errorf("payment %d of %s was not replayed: %s %s %s", n, run, answer.Decision, answer.Reason, answer.Text)
	}
	return nil
}

// drive makes count calls with the given number of callers, each of which
// makes the next call when it has the answer of the last.
func drive(ctx context.Context, callers, count int, do func(ctx context.Context, n int) error) (sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	latencies := make([][]time.Duration, callers)
	var all sync.WaitGroup
	began, spent := time.Now(), processTime()
	for caller := range callers {
		all.Go(func() {
			for n := caller; n < count && ctx.Err() == nil; n += callers {
				start := time.Now()
				if err := do(ctx, n); err != nil {
					cancel(err)
					return
				}
				latencies[caller] = append(latencies[caller], time.Since(start))
			}
		})
	}
	all.Wait()
	s := sample{elapsed: time.Since(began), processor: processTime() - spent}
	for _, of := range latencies {
		s.latencies = append(s.latencies, of...)
	}
	return s, context.Cause(ctx)
}
