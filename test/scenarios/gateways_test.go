// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/test/process"
)

// gateways are the running processes on one ledger. As a session they take the
// requests in turn.
type gateways struct {
	runs     []*faultkit.Running
	sessions []caller.Session
	next     atomic.Int64
	died     chan struct{}
}

func (g *gateways) Request(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	n := int(g.next.Add(1)-1) % len(g.sessions)
	return g.sessions[n].Request(ctx, method, params)
}

// Kill ends all of them at once, as a crash does.
func (g *gateways) Kill() {
	for _, run := range g.runs {
		run.Kill()
	}
}

// Close ends them in good order.
func (g *gateways) Close() error {
	var errs []error
	for i, run := range g.runs {
		if g.sessions[i] != caller.Session(run) {
			errs = append(errs, g.sessions[i].Close())
		}
		errs = append(errs, run.Close())
	}
	return errors.Join(errs...)
}

// Died is closed when one of them is gone.
func (g *gateways) Died() <-chan struct{} { return g.died }

// first is the session of the first gateway.
func (g *gateways) first() caller.Session { return g.sessions[0] }

// stdio is the session over standard streams of the first gateway.
func (g *gateways) stdio() *caller.Stdio {
	stdio, _ := g.runs[0].Session.(*caller.Stdio)
	return stdio
}

// start starts the gateways, with further variables in their environment.
func (w *world) start(env ...string) {
	w.Helper()
	if w.offset != 0 {
		env = append(env, "DEED_CLOCK_OFFSET="+w.offset.String())
	}
	w.gateway.Env = env
	g := &gateways{died: make(chan struct{})}
	w.running = g
	var once sync.Once
	for n := range w.replicas {
		run, session := w.launch(w.numbered(n))
		g.runs, g.sessions = append(g.runs, run), append(g.sessions, session)
		go func() {
			<-run.Died()
			once.Do(func() { close(g.died) })
		}()
	}
}

// launch starts one gateway and opens a session at the door.
func (w *world) launch(gateway faultkit.Gateway) (*faultkit.Running, caller.Session) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	run, err := gateway.Start(ctx)
	if err != nil {
		w.Fatalf("%v\n%s", err, w.stderr)
	}
	if session := w.dial("http://" + gateway.Address); session != nil {
		return run, session
	}
	return run, run
}

// dial opens a session at a door that is no MCP; nil at the others.
func (w *world) dial(base string) caller.Session {
	switch w.door.kind {
	case overV1:
		return &v1Session{base: base, client: plain()}
	case proxied:
		return &proxySession{base: base, client: plain()}
	}
	return nil
}

// numbered is the n-th gateway of the ledger.
func (w *world) numbered(n int) faultkit.Gateway {
	w.Helper()
	g := w.gateway
	if n == 0 || w.door.stdio() {
		return g
	}
	if len(w.addresses) < n {
		w.addresses = append(w.addresses, process.FreeAddress(w.T))
	}
	g.Address = w.addresses[n-1]
	g.Config = filepath.Join(filepath.Dir(g.Config), fmt.Sprintf("replica-%d.yaml", n))
	config := maps.Clone(w.config)
	config["listen"] = g.Address
	w.write(g.Config, config)
	return g
}

// restart ends the gateways in good order and starts them again.
func (w *world) restart(env ...string) {
	w.Helper()
	if err := w.running.Close(); err != nil {
		w.Fatal(err)
	}
	w.start(env...)
}

// crash kills the gateways that are not dead already, and starts them again later
// than their leases last. It needs the skewed binary. A ledger in PostgreSQL keeps
// its own time: there the next call waits for the lease to end.
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
	session := w.dial("http://" + w.gateway.Address)
	var err error
	switch {
	case session != nil:
	case w.door.stdio():
		session, err = w.gateway.Start(ctx)
	default:
		session, err = caller.DialHTTP(ctx, "http://"+w.gateway.Address+"/mcp/shop", w.door.version, nil)
	}
	w.must(err)
	w.Cleanup(func() { _ = session.Close() })
	return session
}

// replica opens a session to a further gateway on the same ledger.
func (w *world) replica() caller.Session {
	w.Helper()
	if w.door.stdio() {
		return w.another()
	}
	run, session := w.launch(w.numbered(w.replicas))
	w.Cleanup(run.Kill)
	return session
}
