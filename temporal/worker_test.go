// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/deed-run/deed"
	deedtemporal "github.com/deed-run/deed/temporal"
)

func TestALocalActivityIsGuardedToo(t *testing.T) {
	b, p := newBench(t), &payments{}
	b.outer = []interceptor.WorkerInterceptor{&lossy{}}
	env := b.workflow(p)
	env.ExecuteWorkflow(func(ctx workflow.Context) (refunded, error) {
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
		var done refunded
		err := workflow.ExecuteLocalActivity(deedtemporal.WithKey(ctx, key), p.Refund, order).Get(ctx, &done)
		return done, err
	})
	if done := result(t, env); done.ID != "re_1" {
		t.Errorf("the Workflow got %+v", done)
	}
	p.want(t, order)
}

func TestWorkersWithOneLedgerPayOnceBetweenThem(t *testing.T) {
	b := newBench(t)
	paying := make(chan struct{})
	p := &payments{after: func(context.Context, int) error {
		<-paying
		return nil
	}}
	const workers = 4
	var envs [workers]*testsuite.TestWorkflowEnvironment
	for i := range envs {
		b.guard.Runtime = b.runtime()
		envs[i] = b.workflow(p)
	}
	var running sync.WaitGroup
	for _, env := range envs {
		running.Go(func() { env.ExecuteWorkflow(refundOnce, order) })
	}
	close(paying)
	running.Wait()
	for _, env := range envs {
		if done := result(t, env); done.ID != "re_1" {
			t.Errorf("a Workflow got %+v", done)
		}
	}
	p.want(t, order)
}

func TestAnActivityThatIsCancelledInTheMiddleIsAwaited(t *testing.T) {
	b := newBench(t)
	leaving := newCancelling(1)
	p := &payments{after: func(ctx context.Context, _ int) error {
		close(leaving.when)
		<-leaving.cancelled
		return ctx.Err()
	}}
	b.outer = []interceptor.WorkerInterceptor{leaving}
	env := b.workflow(p)
	env.ExecuteWorkflow(refundOnce, order)
	if done := result(t, env); done.ID != "re_1" {
		t.Errorf("the Workflow got %+v", done)
	}
	p.want(t, order)
}

func TestAReadOnlyActivityRunsEachTimeAndCanBeCancelled(t *testing.T) {
	b := newBench(t)
	b.rule(func(r *deed.Rule) { r.Effect = deed.EffectReadOnly })
	leaving := newCancelling(2)
	p := &payments{after: func(ctx context.Context, times int) error {
		if times == 1 {
			return errors.New("try again")
		}
		close(leaving.when)
		<-ctx.Done()
		return temporal.NewNonRetryableApplicationError("stopped in the middle", "stopped", context.Cause(ctx))
	}}
	b.outer = []interceptor.WorkerInterceptor{leaving}
	env := b.workflow(p)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(brief(ctx), "Refund", order).Get(ctx, nil)
	})
	if err := env.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), "stopped in the middle") {
		t.Errorf("the Workflow ended with %v", err)
	}
	p.want(t, order, order)
	page, err := b.rt.List(t.Context(), operator, deed.Query{})
	if err != nil || len(page.Operations) != 0 {
		t.Errorf("the ledger holds %v, %v", page.Operations, err)
	}
}

// leavingStore lets the caller leave while its attempt is being recorded.
type leavingStore struct {
	deed.Store
	leaving *cancelling
	once    sync.Once
}

func (s *leavingStore) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	view, err := s.Store.Transact(ctx, scope, change)
	s.once.Do(func() {
		close(s.leaving.when)
		<-s.leaving.cancelled
	})
	return view, err
}

func TestAnActivityWhoseTimeIsOverBeforeItIsStartedIsNotStarted(t *testing.T) {
	for range 20 {
		b, p, leaving := newBench(t), &payments{}, newCancelling(1)
		rt, err := deed.New(deed.Options{Store: &leavingStore{Store: b.ledger, leaving: leaving}, Policy: b.rules})
		if err != nil {
			t.Fatal(err)
		}
		b.guard.Runtime, b.outer = rt, []interceptor.WorkerInterceptor{leaving}
		env := b.workflow(p)
		env.ExecuteWorkflow(func(ctx workflow.Context) error {
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}})
			return workflow.ExecuteActivity(deedtemporal.WithKey(ctx, key), "Refund", order).Get(ctx, nil)
		})
		if err := rt.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		// It was started and is told of, or it was not; either may come first.
		if env.GetWorkflowError() == nil {
			p.want(t, order)
			continue
		}
		if told, failure := report(t, env); told.Decision != deed.InProgress && told.Decision != deed.Failed || failure.NonRetryable() {
			t.Errorf("the Workflow was told %+v by %v", told, failure)
		}
		p.want(t)
	}
}

func TestInObserveModeAnActivityEndsAsIfNothingStoodBeforeIt(t *testing.T) {
	for name, c := range map[string]struct {
		first error
		want  []refund
	}{
		"an error that is retried": {errors.New("try again"), []refund{order, order}},
		"one that is not":          {temporal.NewNonRetryableApplicationError("declined", "Declined", nil), []refund{order}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.rule(func(r *deed.Rule) { r.Mode = deed.ModeObserve })
			p := &payments{after: func(_ context.Context, times int) error {
				if times == 1 {
					return c.first
				}
				return nil
			}}
			env := b.workflow(p)
			env.ExecuteWorkflow(refundOnce, order)
			p.want(t, c.want...)
			var failure *temporal.ApplicationError
			if err := env.GetWorkflowError(); len(c.want) == 1 && (!errors.As(err, &failure) || failure.Type() != "Declined") || len(c.want) == 2 && err != nil {
				t.Errorf("the Workflow ended with %v", err)
			}
		})
	}
}

func TestARepeatDoesNotWaitBeyondItsOwnTime(t *testing.T) {
	b := newBench(t)
	b.rule(func(r *deed.Rule) { r.Wait = time.Hour })
	going, paying := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := b.rt.Do(context.Background(), deed.Call{
			Principal: caller, Tool: refundTool, Key: deed.OperationKey(key), Arguments: []byte(`{"amount":12,"order":"1042"}`),
		}, func(context.Context, deed.Attempt) (deed.Receipt, error) {
			close(going)
			<-paying
			return deed.Receipt{RemoteID: "re_1"}, nil
		})
		first <- err
	}()
	<-going
	leaving := newCancelling(1)
	b.outer = []interceptor.WorkerInterceptor{leaving}
	close(leaving.when)
	p := &payments{}
	env := b.workflow(p)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}})
		return workflow.ExecuteActivity(deedtemporal.WithKey(ctx, key), "Refund", order).Get(ctx, nil)
	})
	if told, failure := report(t, env); told.Decision != deed.InProgress || failure.NonRetryable() {
		t.Errorf("the Workflow was told %+v by %v", told, failure)
	}
	p.want(t)
	close(paying)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestSessionsAndUnguardedActivitiesPass(t *testing.T) {
	b, p := newBench(t), &payments{}
	b.guard.Unguarded = []string{"Refund"}
	options := b.options()
	options.EnableSessionWorker = true
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(options)
	env.RegisterActivity(p)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		session, err := workflow.CreateSession(patient(ctx), &workflow.SessionOptions{CreationTimeout: time.Minute, ExecutionTimeout: time.Hour})
		if err != nil {
			return err
		}
		defer workflow.CompleteSession(session)
		return workflow.ExecuteActivity(session, "Refund", order).Get(session, nil)
	})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	p.want(t, order)
	page, err := b.rt.List(t.Context(), operator, deed.Query{})
	if err != nil || len(page.Operations) != 0 {
		t.Errorf("the ledger holds %v, %v", page.Operations, err)
	}
}

func TestAWorkerWhoseRuntimeIsClosedRunsNothing(t *testing.T) {
	b, p := newBench(t), &payments{}
	if err := b.rt.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	env := b.workflow(p)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(deedtemporal.WithKey(brief(ctx), key), "Refund", order).Get(ctx, nil)
	})
	told, failure := report(t, env)
	if told.Reason != deed.ReasonStoreUnavailable || failure.NonRetryable() {
		t.Errorf("the Workflow was told %+v by %v", told, failure)
	}
	p.want(t)
}

func TestAnErrorOfPrepareStopsTheActivity(t *testing.T) {
	b, p := newBench(t), &payments{}
	b.guard.Prepare = func(context.Context, activity.Info, *deed.Call) error { return errors.New("the order is not known") }
	env := b.workflow(p)
	env.ExecuteWorkflow(refundOnce, order)
	if told, _ := report(t, env); told.Decision != deed.Denied || told.Text != "the order is not known" {
		t.Errorf("the Workflow was told %+v", told)
	}
	p.want(t)
}

// What another door has done is done, but its result is not the Activity's.
func TestAnActivityThatTakesTheNameOfAGatewaysToolSharesItsOperations(t *testing.T) {
	b, p := newBench(t), &payments{}
	_, err := b.rt.Do(t.Context(), deed.Call{
		Principal: caller, Tool: "payments/refund", Key: deed.OperationKey(key), Arguments: []byte(`{"amount":12,"order":"1042"}`),
	}, func(context.Context, deed.Attempt) (deed.Receipt, error) {
		return deed.Receipt{RemoteID: "re_9", Result: []byte(`{"id":"re_9","amount":12}`)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.guard.Prepare = func(_ context.Context, _ activity.Info, call *deed.Call) error {
		call.Tool = "payments/refund"
		return nil
	}
	env := b.workflow(p)
	env.ExecuteWorkflow(refundOnce, order)
	if told, failure := report(t, env); !told.Done() || told.Receipt.RemoteID != "re_9" || !failure.NonRetryable() {
		t.Errorf("the Workflow was told %+v by %v", told, failure)
	}
	p.want(t)
}

func TestWhatPrepareChangesIsWhatIsDecidedAndRun(t *testing.T) {
	b, p := newBench(t), &payments{}
	b.guard.Prepare = func(_ context.Context, _ activity.Info, call *deed.Call) error {
		call.Key = deed.OperationKey("refund:order-1042:2")
		copy(call.Arguments, `{"order":"1042","amount":6 }`)
		return nil
	}
	env := b.workflow(p)
	env.ExecuteWorkflow(refundOnce, order)
	result(t, env)
	p.want(t, refund{Order: "1042", Amount: 6})
	if op := b.only(); op.Key.Text != "refund:order-1042:2" {
		t.Errorf("the ledger holds %+v", op.Key)
	}
}

func TestAnEmptyKeyIsNoKey(t *testing.T) {
	b, p := newBench(t), &payments{}
	b.guard.Derive = []string{"meta.run", "meta.activity"}
	env := b.workflow(p)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(deedtemporal.WithKey(brief(ctx), ""), "Refund", order).Get(ctx, nil)
	})
	if told, _ := report(t, env); told.Decision != deed.Denied || !strings.Contains(told.Text, "empty key") {
		t.Errorf("the Workflow was told %+v", told)
	}
	p.want(t)
}

func TestAGuardThatIsListedTwiceGuardsOnce(t *testing.T) {
	b, p := newBench(t), &payments{}
	b.outer = b.options().Interceptors
	env := b.workflow(p)
	env.ExecuteWorkflow(refundOnce, order)
	result(t, env)
	p.want(t, order)
	b.only()
}

func TestALocalActivityIsNumberedApart(t *testing.T) {
	b, p := newBench(t), &payments{}
	b.guard.Derive = []string{"meta.run", "meta.activity"}
	env := b.workflow(p)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
		return workflow.ExecuteLocalActivity(ctx, p.Refund, order).Get(ctx, nil)
	})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if op := b.only(); !strings.HasPrefix(op.Meta["activity"], "local-") {
		t.Errorf("it is numbered %s", op.Meta["activity"])
	}
}

func TestAReadOnlyActivityThatPanicsHasNoResult(t *testing.T) {
	b := newBench(t)
	b.rule(func(r *deed.Rule) { r.Effect = deed.EffectReadOnly })
	p := &payments{before: func(context.Context, int) error { panic("a nil map") }}
	env := b.workflow(p)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(brief(ctx), "Refund", order).Get(ctx, nil)
	})
	if err := env.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), "a nil map") {
		t.Errorf("the Workflow ended with %v", err)
	}
}

func TestAnActivityKnowsItsAttempt(t *testing.T) {
	b := newBench(t)
	b.rule(func(r *deed.Rule) {
		r.ProviderKey = &deed.ProviderKeyRule{Retention: 24 * time.Hour, Margin: time.Hour}
	})
	var attempt deed.Attempt
	p := &payments{after: func(ctx context.Context, _ int) error {
		attempt, _ = deedtemporal.AttemptOf(ctx)
		return nil
	}}
	env := b.workflow(p)
	env.ExecuteWorkflow(refundOnce, order)
	result(t, env)
	if attempt.Number != 1 || attempt.ProviderKey == "" || string(attempt.Arguments) != `{"order":"1042","amount":12}` {
		t.Errorf("the Activity saw %+v", attempt)
	}
	if _, ok := deedtemporal.AttemptOf(t.Context()); ok {
		t.Error("there is an attempt where nothing is guarded")
	}
}

func TestOptionsThatGuardNothingAreRefused(t *testing.T) {
	b := newBench(t)
	for name, options := range map[string]deedtemporal.Options{
		"Options.Runtime":  {Principal: caller},
		"no tenant":        {Runtime: b.rt, Principal: deed.Principal{Actor: "orders", Rights: caller.Rights}},
		"no actor":         {Runtime: b.rt, Principal: deed.Principal{Tenant: "acme", Rights: caller.Rights}},
		"deed.RightCall":   {Runtime: b.rt, Principal: deed.Principal{Tenant: "acme", Actor: "orders"}},
		"Options.Upstream": {Runtime: b.rt, Principal: caller, Upstream: "a/b"},
	} {
		if guard, err := deedtemporal.New(options); err == nil || guard != nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
