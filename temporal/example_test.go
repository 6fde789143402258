// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/deed-run/deed"
	deedtemporal "github.com/deed-run/deed/temporal"
)

// Order and Refund stand for a program's own type and Activity.
type Order struct {
	ID     string
	Amount int
}

func Refund(ctx context.Context, order Order) (string, error) {
	deedtemporal.SetReceipt(ctx, deed.Receipt{RemoteSystem: "payments", RemoteID: "re_1"})
	return "re_1", nil
}

func startWorker(c client.Client, rt *deed.Runtime) (worker.Worker, error) {
	guard, err := deedtemporal.New(deedtemporal.Options{
		Runtime:   rt,
		Principal: deed.Principal{Tenant: "acme", Actor: "orders", Rights: []deed.Right{deed.RightCall}},
	})
	if err != nil {
		return nil, err
	}
	w := worker.New(c, "orders", worker.Options{Interceptors: []interceptor.WorkerInterceptor{guard}})
	w.RegisterWorkflow(RefundOrder)
	w.RegisterActivity(Refund)
	return w, w.Start()
}

func RefundOrder(ctx workflow.Context, order Order) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{MaximumInterval: 10 * time.Minute},
	})
	ctx = deedtemporal.WithKey(ctx, "refund:order-"+order.ID+":first")
	var id string
	err := workflow.ExecuteActivity(ctx, Refund, order).Get(ctx, &id)
	if report, ok := deedtemporal.ReportOf(err); ok && report.Done() {
		// A look-up or a person has found it done; the Activity's own answer was lost.
		return report.Receipt.RemoteID, nil
	}
	return id, err
}

// A worker's interceptor is all that its Activities need.
func Example() {
	var (
		c  client.Client
		rt *deed.Runtime
	)
	if _, err := startWorker(c, rt); err != nil {
		return
	}
}

func TestTheExamplesWorkflowKnowsWhatWasFoundDone(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"an answer":         {want: "re_1"},
		"found by a person": {err: errors.New("lost"), want: "re_7"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			env.SetWorkerOptions(b.options())
			env.RegisterActivity(Refund)
			if c.err != nil {
				b.found(t, c.err, "re_7")
			}
			env.ExecuteWorkflow(RefundOrder, Order{ID: "1042", Amount: 12})
			var id string
			if err := errors.Join(env.GetWorkflowError(), env.GetWorkflowResult(&id)); err != nil || id != c.want {
				t.Errorf("the Workflow ended with %q, %v", id, err)
			}
		})
	}
}

// found records the refund of the example as sent, lost, and found by a person.
func (b *bench) found(t *testing.T, lost error, id string) {
	t.Helper()
	_, err := b.rt.Do(t.Context(), deed.Call{
		Principal: caller, Tool: refundTool, Key: deed.OperationKey("refund:order-1042:first"), Arguments: []byte(`{"ID":"1042","Amount":12}`),
	}, func(context.Context, deed.Attempt) (deed.Receipt, error) { return deed.Receipt{}, lost })
	if err == nil {
		_, err = b.rt.Resolve(t.Context(), operator, b.only().ID, deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{id}, Reason: "it is on the provider's page", Force: true})
	}
	if err != nil {
		t.Fatal(err)
	}
}
