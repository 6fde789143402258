// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"fmt"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

// exampleRuntime returns a Runtime over the reference store of the test kit; a
// program opens a ledger with package sqlite instead.
func exampleRuntime() *deed.Runtime {
	clock := storetest.NewClock(time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC))
	rt, err := deed.New(deed.Options{
		Store:  storetest.NewMemory(clock),
		Clock:  clock,
		Policy: deed.FixedPolicy{},
	})
	if err != nil {
		panic(err)
	}
	return rt
}

// The second call with the same key is answered from the record.
func ExampleRuntime_Do() {
	rt := exampleRuntime()
	defer rt.Close(context.Background())

	refund := func(context.Context, deed.Attempt) (deed.Receipt, error) {
		fmt.Println("the provider is called")
		return deed.Receipt{RemoteSystem: "payments", RemoteID: "re_1"}, nil
	}
	call := deed.Call{
		Principal: deed.Principal{Tenant: "acme", Actor: "support", Rights: []deed.Right{deed.RightCall}},
		Tool:      "payments/refund",
		Key:       deed.OperationKey("refund:order-1042:first"),
		Arguments: []byte(`{"order_id":"1042","amount":12}`),
	}
	for range 2 {
		answer, err := rt.Do(context.Background(), call, refund)
		if err != nil {
			panic(err)
		}
		if !answer.Done() {
			panic(answer.Text)
		}
		fmt.Println(answer.Decision, answer.Receipt().RemoteID)
	}
	// Output:
	// the provider is called
	// execute re_1
	// replay re_1
}

// sendLetter prepares for a while, and asks right before it sends.
func sendLetter(_ context.Context, attempt deed.Attempt) (deed.Receipt, error) {
	letter := fmt.Sprintf("Dear customer, %s", attempt.Arguments)
	if err := attempt.MaySend(); err != nil {
		return deed.Receipt{}, deed.NotSent(err)
	}
	fmt.Println(letter)
	return deed.Receipt{RemoteSystem: "letters", RemoteID: "l_1"}, nil
}

// A function that prepares for a while asks whether it may still send.
func ExampleAttempt() {
	rt := exampleRuntime()
	defer rt.Close(context.Background())
	answer, err := rt.Do(context.Background(), deed.Call{
		Principal: deed.Principal{Tenant: "acme", Actor: "support", Rights: []deed.Right{deed.RightCall}},
		Tool:      "letters/send",
		Key:       deed.OperationKey("reminder:invoice-77:first"),
		Arguments: []byte(`{"invoice":"77"}`),
	}, sendLetter)
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Decision, answer.Done())
	// Output:
	// Dear customer, {"invoice":"77"}
	// execute true
}

// An outcome that nobody knows holds the key, and every other key for the
// same effect, until a person or evidence settles it.
func ExampleRuntime_Resolve() {
	rt := exampleRuntime()
	defer rt.Close(context.Background())
	ctx := context.Background()

	call := deed.Call{
		Principal: deed.Principal{Tenant: "acme", Actor: "support", Rights: []deed.Right{deed.RightCall}},
		Tool:      "mail/send",
		Key:       deed.OperationKey("welcome-mail:user-77"),
		Arguments: []byte(`{"to":"user-77"}`),
	}
	send := func(context.Context, deed.Attempt) (deed.Receipt, error) {
		return deed.Receipt{}, fmt.Errorf("connection reset after the last byte")
	}
	answer, _ := rt.Do(ctx, call, send)
	fmt.Println(answer.Operation.Status)

	person := deed.Principal{Tenant: "acme", Actor: "ana", Rights: []deed.Right{deed.RightRead, deed.RightResolve}}
	_, err := rt.Resolve(ctx, person, answer.Operation.ID, deed.Resolution{
		Outcome: deed.ResolveCommitted, RemoteIDs: []string{"msg-9"}, Reason: "it is in the sent folder",
	})
	if err != nil {
		panic(err)
	}
	again, _ := rt.Do(ctx, call, send)
	if again.Done() {
		fmt.Println(again.Decision, again.Receipt().EstablishedBy)
	}
	// Output:
	// uncertain
	// replay operator:ana
}
