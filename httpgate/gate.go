// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// Runtime is what a Gate asks of a deed.Runtime.
type Runtime interface {
	Claim(ctx context.Context, call deed.Call) (deed.Answer, *deed.Grant, error)
	Settle(ctx context.Context, grant *deed.Grant, outcome deed.Outcome) (deed.Answer, error)
	Delivered(ctx context.Context, answer deed.Answer)
}

// Unnamed says what becomes of requests that change things and that no route
// names.
type Unnamed string

const (
	// UnnamedGuard lets them pass the Runtime as the tools "name/METHOD", under the
	// defaults of the policy.
	UnnamedGuard Unnamed = "guard"
	// UnnamedRefuse answers 403.
	UnnamedRefuse Unnamed = "refuse"
	// UnnamedPass lets them through, unrecorded: nothing is promised for them but that
	// they are no route in another spelling. Behind a proxy it takes the right to call.
	UnnamedPass Unnamed = "pass"
)

// Options configure a Gate. Routes, Runtime, Policy and Auth are required.
type Options struct {
	Routes  *Routes
	Runtime Runtime
	// Policy is the one that the Runtime was made with: [Routes.Policy].
	Policy deed.Policy
	// Auth finds out who makes a request, false when nobody known does.
	Auth func(*http.Request) (deed.Principal, bool)
	// Identity tells where the effects go, such as the account that an API key
	// belongs to; by default the upstream's URL as it was written, or the name of the routes for
	// handlers. A rule's account wins.
	Identity string
	// Hosts are names by which the server of a [Gate.Proxy] is reached, beside those
	// of this machine, without ports. A request that comes to an address of the
	// loopback interface under another name is refused, as are pages of other origins.
	Hosts []string
	// Unnamed is UnnamedGuard by default.
	Unnamed Unnamed
	// Outcomes returns where a tool's answers name what they made; pointers lead
	// into the body, with or without a leading /structuredContent.
	Outcomes func(deed.Tool) outcome.Rules
	// MaxBody is the longest body of a request that changes things in bytes, 1 MiB
	// by default and 2 MiB at most: a longer one is answered 413 and claims nothing.
	MaxBody int64
	// ReadWithin bounds how long a body may take to arrive, that of a request and
	// that of an upstream's error, and WriteWithin how long a part of an answer may
	// take to leave; 30 s by default.
	ReadWithin  time.Duration
	WriteWithin time.Duration
	// Location is the path under which an operation can be looked at, with a
	// trailing slash, for answers that wait for a person; "/v1/operations/" by
	// default.
	Location string
	// Log takes what an operator should know and no record holds, by default a line
	// on stderr. It is called from many goroutines.
	Log func(text string)
	// Clock is the system's by default.
	Clock deed.Clock
}

// Gate guards requests. It is safe for concurrent use. Close it after the
// servers that use it.
type Gate struct {
	routes      *Routes
	runtime     Runtime
	policy      deed.Policy
	auth        func(*http.Request) (deed.Principal, bool)
	identity    string
	hosts       []string
	unnamed     Unnamed
	outcomes    func(deed.Tool) outcome.Rules
	maxBody     int64
	readWithin  time.Duration
	writeWithin time.Duration
	location    string
	log         func(text string)
	clock       deed.Clock

	// work are attempts, which end with ctx; handlers need not.
	work     sync.WaitGroup
	handlers sync.WaitGroup
	ctx      context.Context
	cancel   context.CancelFunc
	mu       sync.Mutex
	idle     []func()
}

const (
	defaultMaxBody = 1 << 20
	mostMaxBody    = 2 << 20
)

// New returns a Gate.
func New(o Options) (*Gate, error) {
	if o.Routes == nil || o.Runtime == nil || o.Policy == nil || o.Auth == nil {
		return nil, errors.New("httpgate: Options needs Routes, Runtime, Policy and Auth: nothing could be decided")
	}
	for tool, r := range o.Routes.byTool {
		rules := o.Policy.Rule(tool, deed.ToolFacts{}).Fingerprint
		if r.As == "" && !slices.Contains(rules.Exclude, "/target") {
			return nil, fmt.Errorf("httpgate: Options.Policy does not know the routes of %s: make it with Routes.Policy, and give the same to deed.New", o.Routes.name)
		}
		if r.MaxBody > mostMaxBody {
			return nil, fmt.Errorf("httpgate: route %s %s: a body of %d bytes cannot be kept, at most %d", r.Method, r.Pattern, r.MaxBody, mostMaxBody)
		}
	}
	g := &Gate{
		routes: o.Routes, runtime: o.Runtime, policy: o.Policy, auth: o.Auth, identity: o.Identity, hosts: o.Hosts, unnamed: o.Unnamed, outcomes: o.Outcomes,
		maxBody: o.MaxBody, readWithin: o.ReadWithin, writeWithin: o.WriteWithin, location: o.Location, log: o.Log, clock: o.Clock,
	}
	if !slices.Contains([]Unnamed{"", UnnamedGuard, UnnamedRefuse, UnnamedPass}, o.Unnamed) {
		return nil, fmt.Errorf("httpgate: Options.Unnamed is %q: use guard, refuse or pass", o.Unnamed)
	}
	if g.outcomes == nil {
		g.outcomes = func(deed.Tool) outcome.Rules { return outcome.Rules{} }
	}
	if g.maxBody <= 0 {
		g.maxBody = defaultMaxBody
	}
	g.maxBody = min(g.maxBody, mostMaxBody)
	if g.readWithin <= 0 {
		g.readWithin = 30 * time.Second
	}
	if g.writeWithin <= 0 {
		g.writeWithin = 30 * time.Second
	}
	if g.location == "" {
		g.location = "/v1/operations/"
	}
	if g.log == nil {
		g.log = func(text string) { fmt.Fprintln(os.Stderr, "deed: "+text) }
	}
	if g.clock == nil {
		g.clock = deed.SystemClock{}
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g, nil
}

// Close waits until every attempt has been settled. When ctx ends first, the
// connections of the others are cut and they are settled as unknown; a handler that
// does not heed the end of its context runs on alone, and nobody hears its answer.
func (g *Gate) Close(ctx context.Context) error {
	done := make(chan struct{})
	go func() { g.work.Wait(); g.handlers.Wait(); close(done) }()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("httpgate: attempts were cut while they ran: %w", ctx.Err())
	}
	g.cancel()
	g.work.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, drop := range g.idle {
		drop()
	}
	return err
}
