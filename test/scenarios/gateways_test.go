// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"context"
	"maps"
	"path/filepath"
	"time"

	"github.com/deed-run/deed/faultkit/caller"
)

// start starts the gateway, with further variables in its environment.
func (w *world) start(env ...string) {
	w.Helper()
	if w.offset != 0 {
		env = append(env, "DEED_CLOCK_OFFSET="+w.offset.String())
	}
	w.gateway.Env = env
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	running, err := w.gateway.Start(ctx)
	if err != nil {
		w.Fatalf("%v\n%s", err, w.stderr)
	}
	w.running = running
}

// restart ends the gateway in good order and starts it again.
func (w *world) restart(env ...string) {
	w.Helper()
	if err := w.running.Close(); err != nil {
		w.Fatal(err)
	}
	w.start(env...)
}

// crash kills the gateway, if it is not dead already, and starts it again later
// than its leases last. It needs the skewed binary.
func (w *world) crash(env ...string) {
	w.Helper()
	w.running.Kill()
	w.later(time.Minute)
	w.start(env...)
}

// later moves the clock of the gateways that are started from now on.
func (w *world) later(d time.Duration) { w.offset += d }

// another opens a further session: over HTTP to the same gateway, over stdio it
// is a further gateway on the same ledger.
func (w *world) another() caller.Session {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var session caller.Session
	var err error
	if w.door.stdio() {
		session, err = w.gateway.Start(ctx)
	} else {
		session, err = caller.DialHTTP(ctx, "http://"+w.gateway.Address+"/mcp/shop", w.door.version, nil)
	}
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = session.Close() })
	return session
}

// replica opens a session to a further gateway on the same ledger.
func (w *world) replica() caller.Session {
	w.Helper()
	if w.door.stdio() {
		return w.another()
	}
	g := w.gateway
	g.Address = freeAddress(w.T)
	g.Config = filepath.Join(filepath.Dir(g.Config), "replica.yaml")
	config := maps.Clone(w.config)
	config["listen"] = g.Address
	w.write(g.Config, config)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	running, err := g.Start(ctx)
	w.must(err)
	w.Cleanup(running.Kill)
	return running
}
