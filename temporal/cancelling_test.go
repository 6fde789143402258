// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

// cancelling cancels the Activities of one attempt when it is told to, as a worker
// does that hears of it with a heartbeat.
type cancelling struct {
	interceptor.WorkerInterceptorBase
	attempt int32
	// when is closed by whoever wants it, cancelled by the interceptor afterwards.
	when, cancelled chan struct{}
}

func newCancelling(attempt int32) *cancelling {
	return &cancelling{attempt: attempt, when: make(chan struct{}), cancelled: make(chan struct{})}
}

func (c *cancelling) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	a := &cancelledActivity{cancelling: c}
	a.Next = next
	return a
}

type cancelledActivity struct {
	interceptor.ActivityInboundInterceptorBase
	cancelling *cancelling
}

func (a *cancelledActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if activity.GetInfo(ctx).Attempt != a.cancelling.attempt {
		return a.Next.ExecuteActivity(ctx, in)
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		<-a.cancelling.when
		cancel()
		close(a.cancelling.cancelled)
	}()
	return a.Next.ExecuteActivity(ctx, in)
}
