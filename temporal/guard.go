// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/deed-run/deed"
)

type guard struct {
	interceptor.WorkerInterceptorBase
	options Options
	passing map[string]bool
}

// InterceptActivity guards the Activities.
func (g *guard) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	guarded := &guardedActivity{guard: g}
	guarded.Next = next
	return guarded
}

// InterceptWorkflow lets the keys of [WithKey] travel.
func (g *guard) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	inbound := &keyedWorkflow{}
	inbound.Next = next
	return inbound
}

type guardedActivity struct {
	interceptor.ActivityInboundInterceptorBase
	guard *guard
}

// ExecuteActivity runs the Activity if an attempt is granted, and otherwise
// answers from the ledger.
func (a *guardedActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	if _, twice := AttemptOf(ctx); twice || a.guard.passing[info.ActivityType.Name] {
		return a.Next.ExecuteActivity(ctx, in)
	}
	arguments, err := argumentsOf(in.Args)
	var call deed.Call
	if err == nil {
		call, err = a.guard.call(ctx, info, arguments)
	}
	if err != nil {
		return nil, Report{Decision: deed.Denied, Reason: deed.ReasonBadArguments, Text: err.Error()}.err(nil, false)
	}
	run := &run{guard: a.guard, info: info, in: in, next: a.Next, caller: ctx, proposed: arguments}
	waiting, stop := run.waiting()
	defer stop()
	answer, err := a.guard.options.Runtime.Do(waiting, call, run.attempt)
	if answer.Rule.Mode == deed.ModeObserve {
		run.unrecorded = true
	}
	switch {
	case errors.Is(err, deed.ErrClosed):
		return nil, Report{Decision: deed.Denied, Reason: deed.ReasonStoreUnavailable, Text: "the worker is being stopped; nothing was sent"}.err(err, true)
	case err != nil:
		return nil, Report{Decision: deed.InProgress, Reason: deed.ReasonLeaseLive, Text: "the Activity's time was over before it was answered; it was not started"}.err(err, true)
	case run.unrecorded && (run.done || run.err != nil):
		return run.result, run.err
	case run.unrecorded:
		return nil, fmt.Errorf("the Activity ended without an answer: %s", answer.Text)
	case run.unfit:
		return nil, reportOf(answer).err(nil, false)
	case !answer.Done():
		return nil, reportOf(answer).err(run.err, mayRetry(answer))
	case run.done:
		return run.result, nil
	}
	return stored(answer)
}

// call describes the Activity to the Runtime.
func (g *guard) call(ctx context.Context, info activity.Info, arguments []byte) (deed.Call, error) {
	call := deed.Call{
		Principal: g.options.Principal,
		Tool:      deed.Tool(g.options.Upstream + "/" + info.ActivityType.Name),
		Arguments: bytes.Clone(arguments),
		Meta:      metaOf(info),
		Derive:    g.options.Derive,
	}
	key, err := keyOf(ctx)
	if err != nil {
		return deed.Call{}, err
	}
	if key != "" {
		call.Key = deed.OperationKey(key)
	}
	if g.options.Prepare != nil {
		if err := g.options.Prepare(ctx, info, &call); err != nil {
			return deed.Call{}, err
		}
	}
	return call, nil
}

// metaOf names the Activity's place in Temporal, for derived keys and for who
// looks for the operations of a Workflow.
func metaOf(info activity.Info) map[string]string {
	run, id := info.WorkflowExecution.RunID, info.ActivityID
	if run == "" {
		run = info.ActivityRunID
	}
	if info.IsLocalActivity {
		// Local Activities are numbered apart from others.
		id = "local-" + id
	}
	meta := map[string]string{}
	for name, value := range map[string]string{
		"namespace": info.Namespace, "workflow": info.WorkflowExecution.ID, "run": run, "activity": id,
	} {
		if value != "" {
			meta[name] = value
		}
	}
	return meta
}
