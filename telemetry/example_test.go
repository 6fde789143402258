// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"fmt"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
	"github.com/deed-run/deed/telemetry"
)

// A program that exports what OTEL_* variables ask for, and nothing without.
func ExampleNew() {
	ctx := context.Background()
	observer, shutdown, err := telemetry.New(ctx, telemetry.Options{Transport: "pipe"})
	if err != nil {
		fmt.Println("going on without:", err)
	}
	ledger := storetest.NewMemory(deed.SystemClock{})
	runtime, err := deed.New(deed.Options{
		Store: telemetry.Measured(ledger, observer), Policy: deed.FixedPolicy{}, Observer: observer,
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// Per request: the trace context of its _meta is the parent of the span.
	request := telemetry.Extract(ctx, map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
	answer, _, err := runtime.Claim(request, deed.Call{Principal: deed.Principal{Tenant: "acme", Actor: "agent"}, Tool: "pay/refund", Arguments: []byte(`{}`)})
	fmt.Println(answer.Decision, answer.Reason, err)

	// Last: the Runtime, then the export.
	fmt.Println(runtime.Close(ctx), shutdown(ctx))
	// Output:
	// denied missing_operation_key <nil>
	// <nil> <nil>
}
