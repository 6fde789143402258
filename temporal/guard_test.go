// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/deed-run/deed"
	deedtemporal "github.com/deed-run/deed/temporal"
)

func result(t *testing.T, env *testsuite.TestWorkflowEnvironment) refunded {
	t.Helper()
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	var done refunded
	if err := env.GetWorkflowResult(&done); err != nil {
		t.Fatal(err)
	}
	return done
}

// report returns what the Workflow's failure tells.
func report(t *testing.T, env *testsuite.TestWorkflowEnvironment) (deedtemporal.Report, *temporal.ApplicationError) {
	t.Helper()
	err := env.GetWorkflowError()
	told, ok := deedtemporal.ReportOf(err)
	var failure *temporal.ApplicationError
	if !ok || !errors.As(err, &failure) {
		t.Fatalf("the Workflow ended with %v", err)
	}
	return told, failure
}

func TestAnActivityWhoseAnswerWasLostIsAnsweredFromTheLedger(t *testing.T) {
	b, p := newBench(t), &payments{}
	b.outer = []interceptor.WorkerInterceptor{&lossy{}}
	env := b.workflow(p)
	env.ExecuteWorkflow(refundOnce, order)
	if done := result(t, env); done != (refunded{ID: "re_1", Amount: 12}) {
		t.Errorf("the Workflow got %+v", done)
	}
	p.want(t, order)
	op := b.only()
	if op.Tool != refundTool || op.Key.Text != key || op.Receipt().RemoteID != "re_1" || op.Meta["workflow"] == "" || op.Meta["run"] == "" {
		t.Errorf("the ledger holds %+v", op)
	}
}

func TestWithoutTheGuardTheSameLossPaysTwice(t *testing.T) {
	p := &payments{}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&lossy{}}})
	env.RegisterActivity(p)
	env.ExecuteWorkflow(refundOnce, order)
	result(t, env)
	p.want(t, order, order)
}

func TestAnotherRunOfTheWorkflowGetsTheStoredResult(t *testing.T) {
	b, p := newBench(t), &payments{}
	for range 2 {
		env := b.workflow(p)
		env.ExecuteWorkflow(refundOnce, order)
		if done := result(t, env); done.ID != "re_1" {
			t.Errorf("the Workflow got %+v", done)
		}
	}
	p.want(t, order)
}

func TestTheSameKeyForAnotherEffectIsAConflict(t *testing.T) {
	b, p := newBench(t), &payments{}
	env := b.workflow(p)
	env.ExecuteWorkflow(refundOnce, order)
	result(t, env)
	other := b.workflow(p)
	other.ExecuteWorkflow(refundOnce, refund{Order: "1042", Amount: 13})
	told, failure := report(t, other)
	if told.Decision != deed.Conflict || told.Reason != deed.ReasonKeyReused || told.Done() || failure.Type() != "deed.conflict" || !failure.NonRetryable() {
		t.Errorf("the Workflow was told %+v by %+v", told, failure)
	}
	p.want(t, order)
}

func TestAnActivityThatNobodyNamedDoesNotRun(t *testing.T) {
	b, p := newBench(t), &payments{}
	env := b.workflow(p)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(patient(ctx), "Refund", order).Get(ctx, nil)
	})
	told, failure := report(t, env)
	if told.Decision != deed.Denied || told.Reason != deed.ReasonMissingOperationKey || !failure.NonRetryable() {
		t.Errorf("the Workflow was told %+v by %v", told, failure)
	}
	p.want(t)
}

func TestADerivedKeyHoldsForTheActivitysRetries(t *testing.T) {
	b, p := newBench(t), &payments{}
	b.guard.Derive = []string{"meta.run", "meta.activity"}
	b.outer = []interceptor.WorkerInterceptor{&lossy{}}
	env := b.workflow(p)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		for range 2 {
			if err := workflow.ExecuteActivity(patient(ctx), "Refund", order).Get(ctx, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	p.want(t, order, order)
}

func TestAnErrorIsClassifiedByWhatItProves(t *testing.T) {
	no := errors.New("no")
	for name, c := range map[string]struct {
		err      error
		classify func(activity.Info, error) error
		decision deed.Decision
		status   deed.Status
	}{
		"refused":                     {err: deed.Refused(no), decision: deed.Failed, status: deed.StatusFailed},
		"classified as refused":       {err: no, classify: func(_ activity.Info, err error) error { return deed.Refused(err) }, decision: deed.Failed, status: deed.StatusFailed},
		"classified as nothing":       {err: no, classify: func(activity.Info, error) error { return nil }, decision: deed.Uncertain, status: deed.StatusUncertain},
		"not to be retried":           {err: temporal.NewNonRetryableApplicationError("no", "no", nil), decision: deed.Uncertain, status: deed.StatusUncertain},
		"anything else":               {err: no, decision: deed.Uncertain, status: deed.StatusUncertain},
		"a promise to come back":      {err: activity.ErrResultPending, decision: deed.Uncertain, status: deed.StatusUncertain},
		"a cancellation of its own":   {err: context.Canceled, decision: deed.Uncertain, status: deed.StatusUncertain},
		"a timeout of its own making": {err: context.DeadlineExceeded, decision: deed.Uncertain, status: deed.StatusUncertain},
	} {
		t.Run(name, func(t *testing.T) {
			b, p := newBench(t), &payments{after: func(context.Context, int) error { return c.err }}
			b.guard.Classify = c.classify
			env := b.workflow(p)
			env.ExecuteWorkflow(func(ctx workflow.Context) error {
				return workflow.ExecuteActivity(deedtemporal.WithKey(brief(ctx), key), "Refund", order).Get(ctx, nil)
			})
			told, _ := report(t, env)
			if told.Decision != c.decision || told.Status != c.status || b.only().Status != c.status {
				t.Errorf("the Workflow was told %+v", told)
			}
			p.want(t, order)
		})
	}
}

func TestWhatProvablyWasNotSentIsTriedAgain(t *testing.T) {
	b, p := newBench(t), &payments{before: func(_ context.Context, calls int) error {
		if calls < 3 {
			return deed.NotSent(errors.New("connection refused"))
		}
		return nil
	}}
	env := b.workflow(p)
	env.ExecuteWorkflow(refundOnce, order)
	result(t, env)
	p.want(t, order)
	if op := b.only(); len(op.Attempts) != 3 {
		t.Errorf("it took %d attempts", len(op.Attempts))
	}
}

func TestAPanicIsUncertain(t *testing.T) {
	b, p := newBench(t), &payments{after: func(context.Context, int) error { panic("a nil map") }}
	env := b.workflow(p)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(deedtemporal.WithKey(brief(ctx), key), "Refund", order).Get(ctx, nil)
	})
	if told, _ := report(t, env); told.Decision != deed.Uncertain {
		t.Errorf("the Workflow was told %+v", told)
	}
	p.want(t, order)
}

func TestAnUncertainActivityWaitsForAPersonsWord(t *testing.T) {
	for outcome, want := range map[deed.ResolutionOutcome]struct {
		effects []refund
		done    bool
	}{
		deed.ResolveCommitted:  {effects: []refund{order}, done: true},
		deed.ResolveNotApplied: {effects: []refund{order, order}},
		deed.ResolveAbandon:    {effects: []refund{order}},
	} {
		t.Run(string(outcome), func(t *testing.T) {
			b, p := newBench(t), &payments{after: func(_ context.Context, times int) error {
				if times == 1 {
					return errors.New("the answer was lost")
				}
				return nil
			}}
			env := b.workflow(p)
			env.RegisterDelayedCallback(func() {
				res := deed.Resolution{Outcome: outcome, Reason: "looked at the provider's page", Force: true}
				if outcome == deed.ResolveCommitted {
					res.RemoteIDs = []string{"re_1"}
				}
				if _, err := b.rt.Resolve(context.Background(), operator, b.only().ID, res); err != nil {
					t.Error(err)
				}
			}, 10*time.Minute)
			env.ExecuteWorkflow(refundOnce, order)
			p.want(t, want.effects...)
			if len(want.effects) == 2 {
				result(t, env)
				return
			}
			told, failure := report(t, env)
			if told.Done() != want.done || !failure.NonRetryable() {
				t.Errorf("the Workflow was told %+v by %v", told, failure)
			}
			if told.Done() && (told.Receipt.RemoteID != "re_1" || !strings.Contains(failure.Message(), "it was done")) {
				t.Errorf("the receipt is %+v in %v", told.Receipt, failure)
			}
		})
	}
}
