// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// header is where the key travels from the Workflow to the Activity.
const header = "deed-idempotency-key"

type keyKey struct{}

// WithKey names the business operation of the Activities that are started with
// the context it returns: one Activity, as a rule. The key is 16 to 255 letters,
// digits and "_.:-", made of what the operation is about ("refund:order-1042:1"),
// and stays the same in every retry, reset and new run of the Workflow. It needs
// the interceptor in the Workflow's worker; without it the Activity has no key,
// and is denied unless a rule derives one.
func WithKey(ctx workflow.Context, key string) workflow.Context {
	return workflow.WithValue(ctx, keyKey{}, key)
}

// keyOf returns the key that came with an Activity, "" if none did.
func keyOf(ctx context.Context) (string, error) {
	payload, ok := interceptor.Header(ctx)[header]
	if !ok {
		return "", nil
	}
	var key string
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &key); err != nil {
		return "", fmt.Errorf("header %s of the Activity: %w; it did not run", header, err)
	}
	if key == "" {
		return "", errors.New("WithKey was given an empty key; the Activity did not run; name the operation, or leave WithKey out where a rule derives its key")
	}
	return key, nil
}

type keyedWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
}

// Init puts the key's carrier before what the Workflow starts.
func (k *keyedWorkflow) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	carrier := &keyCarrier{}
	carrier.Next = outbound
	return k.Next.Init(carrier)
}

type keyCarrier struct {
	interceptor.WorkflowOutboundInterceptorBase
}

// ExecuteActivity starts an Activity with the key of its context.
func (k *keyCarrier) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	carry(ctx)
	return k.Next.ExecuteActivity(ctx, name, args...)
}

// ExecuteLocalActivity starts a local Activity with the key of its context.
func (k *keyCarrier) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	carry(ctx)
	return k.Next.ExecuteLocalActivity(ctx, name, args...)
}

func carry(ctx workflow.Context) {
	key, ok := ctx.Value(keyKey{}).(string)
	if !ok {
		return
	}
	// A string is always encoded.
	if payload, err := converter.GetDefaultDataConverter().ToPayload(key); err == nil {
		interceptor.WorkflowHeader(ctx)[header] = payload
	}
}
