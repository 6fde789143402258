// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
	"github.com/deed-run/deed/internal/server"
	"github.com/deed-run/deed/mcpgate"
)

// Daemon serves the configured upstreams over HTTP. Make it with New, then Start
// and Stop it once.
type Daemon struct {
	core    *Core
	handler *mcpgate.Handler
	doors   *doors
	pages   *console.Console
	// bootstrap is the token by which somebody at this machine decides in the
	// console when nobody can sign in; empty where people can.
	bootstrap string
	background
	// serves: callers of others reach it, so the lists of its servers are asked for.
	serves   bool
	unask    func()
	server   *http.Server
	entrance *entrance
	v1       *server.Server
	listener net.Listener
	failed   chan error
	done     chan struct{}
	drain    time.Duration
	// notice is how long /readyz says that the gateway is stopping before it takes no
	// new calls, so that a balancer sends them elsewhere.
	notice time.Duration
	probe  *health
	// unstream ends the streams that clients only listen on: they never end by
	// themselves.
	unstream context.CancelFunc
	reserve  []byte
}

// New opens the ledger and wires everything; nothing listens yet.
func New(ctx context.Context, o Options) (*Daemon, error) {
	if err := onlyLocal(o.Config.Listen, o.Config.Auth); err != nil {
		return nil, &ConfigError{err}
	}
	if len(o.Config.Upstreams)+len(o.Config.HTTP)+len(o.Config.Connectors)+len(o.Config.Programs) == 0 {
		return nil, &ConfigError{fmt.Errorf("%s has neither upstreams nor http, connectors or programs; nothing was started; add one", o.Config.File)}
	}
	known, err := authenticator(o.Config.Auth, deed.SystemClock{})
	if err != nil {
		return nil, err
	}
	core, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	core.asks = true
	if known != nil {
		known = (&strangers{clock: core.Clock, log: core.log}).over(known)
	}
	options := mcpgate.HTTPOptions{Upstreams: core.upstreams, Guard: core.gate, Clock: core.Clock}
	auth := known
	var hosts []string // callers without tokens are on this machine, and call it so
	if known != nil {
		options.Principal = erring(known)
		hosts = core.Config.Console.AllowedHosts
		options.Hosts = hosts
	} else {
		options.Local = deed.Principal{
			Tenant: o.Config.Tenant, Actor: o.Config.Actor, Rights: []deed.Right{deed.RightCall, deed.RightRead},
		}
		auth = func(*http.Request) (deed.Principal, bool) { return options.Local, true }
	}
	var handler *mcpgate.Handler
	if len(core.upstreams) > 0 {
		if handler, err = mcpgate.NewHandler(options); err != nil {
			return nil, errors.Join(err, core.Close(ctx))
		}
	}
	v1, err := server.New(server.Options{
		Runtime: core.Runtime, Auth: auth, Tools: core.calls, Run: core.RunStored, Budgets: budgetsOf(core.Config), Short: core.Short, Fence: core.fenceOfAPI, Policy: core.Policy, Facts: core.gate.Facts, Clock: core.Clock, Build: o.Build, Hosts: hosts,
	})
	if err != nil {
		return nil, errors.Join(err, core.Close(ctx))
	}
	doors, err := openDoors(core, auth, hosts)
	if err != nil {
		return nil, errors.Join(err, core.Close(ctx))
	}
	probe := &health{store: core.Ledger, clock: core.Clock, outdated: core.outdated.any, clocks: core.clocksText, outage: core.outage}
	pages, bootstrap, err := openConsole(core, known != nil, probe)
	if err != nil {
		return nil, errors.Join(err, doors.close(ctx), core.Close(ctx))
	}
	streaming, unstream := context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.Handle("/", pages)
	mux.Handle("/confirmations/{name}", named(confirmations(core)))
	if handler != nil {
		mux.Handle("/mcp/{upstream}", streamsUntil(streaming, handler))
	}
	mux.Handle("/http/{name}/{path...}", named(doors.handlers))
	mux.Handle("/v1/", v1)
	mux.Handle("/openapi.json", v1)
	mux.HandleFunc("GET /healthz", probe.live)
	mux.HandleFunc("GET /readyz", probe.ready)
	in := &entrance{next: mux}
	return &Daemon{
		entrance: in, v1: v1, core: core, serves: o.Transport != "", handler: handler, doors: doors, pages: pages, bootstrap: bootstrap, failed: make(chan error, 1), done: make(chan struct{}), drain: cmp.Or(o.Drain, drain), notice: noticeOf(o.Drain), probe: probe, unstream: unstream, reserve: make([]byte, reserve),
		server: &http.Server{Handler: in, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute},
	}, nil
}

// Command is a command of deed that works where this gateway does.
func (d *Daemon) Command(words ...string) string { return d.core.reach.command(words...) }

// ConfigError says that the configuration cannot be served as it is.
type ConfigError struct{ err error }

func (e *ConfigError) Error() string { return e.err.Error() }
func (e *ConfigError) Unwrap() error { return e.err }

// Start listens and begins what goes on in the background. After an error everything is closed.
func (d *Daemon) Start(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", d.core.Config.Listen)
	if err != nil {
		// What net puts before it is "listen tcp" and the address once more.
		if at, ok := errors.AsType[*net.OpError](err); ok {
			err = at.Err
		}
		return errors.Join(&ConfigError{fmt.Errorf("listen tcp %s: %w; nothing was started; choose another address: --listen, or listen: in the configuration", d.core.Config.Listen, err)}, d.core.Close(ctx))
	}
	d.listener = listener
	if err := d.background.start(d.core); err != nil {
		return errors.Join(err, listener.Close(), d.core.Close(ctx))
	}
	d.unask = func() {}
	if d.serves {
		d.unask = d.core.askLists(ctx)
	}
	go func() {
		defer close(d.done)
		if err := d.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			d.failed <- fmt.Errorf("serving %s: %w", listener.Addr(), err)
		}
	}()
	return nil
}

// Address is where the daemon listens, once it was started.
func (d *Daemon) Address() string { return d.listener.Addr().String() }

// Bootstrap is the token with which whoever started the daemon signs in to the
// console where nobody else can; empty where people have tokens of their own.
func (d *Daemon) Bootstrap() string { return d.bootstrap }

// Failed tells when the daemon stopped serving by itself.
func (d *Daemon) Failed() <-chan error { return d.failed }

// longestNotice bounds how long a gateway that stops still takes calls.
const longestNotice = 5 * time.Second

// noticeOf is the part of a configured drain in which calls are still taken: a
// quarter, none of the default.
func noticeOf(configured time.Duration) time.Duration { return min(configured/4, longestNotice) }

// streamsUntil ends the streams that clients only listen on, as soon as the context
// does; calls go on.
func streamsUntil(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			listening, end := context.WithCancel(r.Context())
			defer end()
			defer context.AfterFunc(ctx, end)()
			r = r.WithContext(listening)
		}
		next.ServeHTTP(w, r)
	})
}

// Stop takes no new calls, lets those under way finish for the drain or until ctx
// ends, and closes everything. What has no answer by then is uncertain. Where a drain
// was configured, /readyz says for the first quarter of it, 5 s at most, that the
// gateway is stopping, and calls are still taken: balancers look only now and then.
// Workers settle what they claimed until all of it is settled, or the drain is over;
// where it had stopped serving by itself, nobody waits for them.
func (d *Daemon) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.drain)
	defer cancel()
	d.probe.stopping.Store(true)
	if d.notice > 0 {
		select {
		case <-time.After(d.notice):
		case <-d.done: // it serves nobody any more
		case <-ctx.Done():
		}
	}
	d.entrance.closed.Store(true)
	d.unask()
	d.pages.Close()
	d.unstream()
	d.core.ending.begin()
	if out := d.v1.AwaitClaims(ctx, d.done); out > 0 {
		d.core.log(claimsLeft(out))
	}
	err := d.server.Shutdown(ctx)
	if err != nil {
		// Clients that hold a stream open are cut off; their calls go on below.
		err = d.server.Close()
	}
	<-d.done
	d.background.stop()
	// Settling what the drain left over takes its own time.
	ending, end := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer end()
	if d.handler != nil {
		err = errors.Join(err, d.handler.Close(ctx))
	}
	err = errors.Join(err, d.doors.close(ctx))
	// Ending a session ends the effects under way in it: first they get what is
	// left of the drain. Whoever is still at work is reported below.
	_ = d.core.gate.Close(ctx)
	return errors.Join(err, d.core.calls.Close(), d.core.Close(ending))
}
