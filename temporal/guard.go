// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal

import (
	"context"
	"errors"

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
	if a.guard.passing[info.ActivityType.Name] {
		return a.Next.ExecuteActivity(ctx, in)
	}
	call, err := a.guard.call(ctx, info, in.Args)
	if err != nil {
		return nil, Report{Decision: deed.Denied, Reason: deed.ReasonBadArguments, Text: err.Error()}.err(nil, false)
	}
	run := &run{guard: a.guard, info: info, in: in, next: a.Next, caller: ctx, proposed: call.Arguments}
	// The effect outlives a caller that leaves, and its outcome is awaited:
	// otherwise Temporal would be told of a cancelled Activity that happened.
	answer, err := a.guard.options.Runtime.Do(context.WithoutCancel(ctx), call, run.attempt)
	switch {
	case errors.Is(err, deed.ErrClosed):
		return nil, Report{Decision: deed.Denied, Reason: deed.ReasonStoreUnavailable, Text: "the worker is being stopped; nothing was sent"}.err(err, true)
	case err != nil:
		return nil, err
	case run.unrecorded:
		return run.result, run.err
	case !answer.Done():
		return nil, reportOf(answer).err(run.err, mayRetry(answer))
	case run.done:
		return run.result, nil
	}
	return stored(answer)
}

// call describes the Activity to the Runtime.
func (g *guard) call(ctx context.Context, info activity.Info, args []any) (deed.Call, error) {
	arguments, err := argumentsOf(args)
	if err != nil {
		return deed.Call{}, err
	}
	call := deed.Call{
		Principal: g.options.Principal,
		Tool:      deed.Tool(g.options.Upstream + "/" + info.ActivityType.Name),
		Arguments: arguments,
		Meta:      metaOf(info),
		Derive:    g.options.Derive,
	}
	key, err := keyOf(ctx)
	if err != nil {
		return deed.Call{}, err
	}
	if key != "" {
		call.Carriers = []deed.Carrier{{Provenance: deed.ProvenanceRuntime, Identity: deed.OperationKey(key), Name: "the key of WithKey"}}
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
	run := info.WorkflowExecution.RunID
	if run == "" {
		run = info.ActivityRunID
	}
	meta := map[string]string{}
	for name, value := range map[string]string{
		"namespace": info.Namespace, "workflow": info.WorkflowExecution.ID, "run": run, "activity": info.ActivityID,
	} {
		if value != "" {
			meta[name] = value
		}
	}
	return meta
}
