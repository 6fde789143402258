// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

// lossy loses the answer of the first attempt of every Activity on its way to
// Temporal, which then retries.
type lossy struct {
	interceptor.WorkerInterceptorBase
}

func (*lossy) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	l := &lossyActivity{}
	l.Next = next
	return l
}

type lossyActivity struct {
	interceptor.ActivityInboundInterceptorBase
}

func (l *lossyActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := l.Next.ExecuteActivity(ctx, in)
	if activity.GetInfo(ctx).Attempt == 1 {
		return nil, errors.New("the worker lost its connection")
	}
	return result, err
}
