// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"net/http"
	"os"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/storetest"
)

// A gateway on stdio before one server; a real one opens a ledger on disk.
func ExampleStdio() {
	store := storetest.NewMemory(deed.SystemClock{})
	policy := deed.FixedPolicy{}
	runtime, err := deed.New(deed.Options{Store: store, Policy: policy})
	if err != nil {
		panic(err)
	}
	gate, err := mcpgate.NewGate(mcpgate.GateOptions{Ledger: runtime, Policy: policy, Pins: &mcpgate.Pins{Settings: store}})
	if err != nil {
		panic(err)
	}
	server := mcpgate.Stdio{
		Name:      "tickets",
		Upstream:  mcpgate.Command{Args: []string{"node", "server.js"}},
		Principal: deed.Principal{Tenant: "default", Actor: "me", Rights: []deed.Right{deed.RightCall, deed.RightRead}},
		Guard:     gate,
	}
	if err := server.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		panic(err)
	}
}

// Several upstreams behind one HTTP server.
func ExampleNewHandler() {
	handler, err := mcpgate.NewHandler(mcpgate.HTTPOptions{
		Upstreams: map[string]mcpgate.Upstream{
			"tickets": mcpgate.Command{Args: []string{"node", "server.js"}},
			"crm":     &mcpgate.Remote{URL: "https://crm.example/mcp"},
		},
	})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp/{upstream}", handler)
}
