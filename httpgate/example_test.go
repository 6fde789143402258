// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
	"github.com/deed-run/deed/storetest"
)

// A handler that charges a card runs once, however often it is asked.
func Example() {
	charges := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("charged")
		w.WriteHeader(http.StatusCreated)
	})

	routes, err := httpgate.NewRoutes("shop", []httpgate.Route{{Method: "POST", Pattern: "/orders/{order}/charge"}})
	if err != nil {
		panic(err)
	}
	policy := routes.Policy(deed.FixedPolicy{})
	runtime, err := deed.New(deed.Options{Store: storetest.NewMemory(deed.SystemClock{}), Policy: policy})
	if err != nil {
		panic(err)
	}
	gate, err := httpgate.New(httpgate.Options{
		Routes: routes, Runtime: runtime, Policy: policy,
		Auth: func(*http.Request) (deed.Principal, bool) {
			return deed.Principal{Tenant: "default", Actor: "web", Rights: []deed.Right{deed.RightCall}}, true
		},
	})
	if err != nil {
		panic(err)
	}
	handler := gate.Middleware(charges)
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/orders/7/charge", strings.NewReader(""))
		r.Header.Set("Idempotency-Key", "order-7:charge:first")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Deed-Decision"))
	}
	_ = gate.Close(context.Background())
	_ = runtime.Close(context.Background())
	// Output:
	// charged
	// 201 execute
	// 201 replay
}
