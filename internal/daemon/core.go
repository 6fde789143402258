// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
	"github.com/deed-run/deed/internal/console"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/policy"
	"github.com/deed-run/deed/telemetry"
)

// Options say what to wire. Config and Ledger are required.
type Options struct {
	Config *policy.Config
	// Ledger is where it is.
	Ledger Place
	// Existing refuses a ledger that is not there, rather than making one.
	Existing bool
	// Environ is the environment as NAME=value: children inherit it.
	Environ []string
	// Stderr takes what children complain about.
	Stderr io.Writer
	// Log takes one line for a person at a time.
	Log func(text string)
	// Transport is how callers reach the gateway; empty for a Core that serves
	// nobody, which exports no telemetry.
	Transport string
	// Drain is how long calls under way may go on once the gateway is stopped; 10 s
	// by default. Where it is longer, a part of it goes by before: see Stop.
	Drain time.Duration
	// Build is the version that telemetry is told.
	Build string
}

func (o Options) getenv(name string) string {
	value := ""
	for _, entry := range o.Environ {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value = rest
		}
	}
	return value
}

// Core is a ledger with a Runtime and, unless it was opened only to look, a
// Gate and its upstreams.
type Core struct {
	Config  *policy.Config
	Ledger  Ledger
	Runtime *deed.Runtime
	Policy  deed.Policy
	Clock   deed.Clock

	gate      *mcpgate.Gate
	routes    map[string]*httpgate.Routes
	upstreams map[string]mcpgate.Upstream
	// locals are the tools that this process makes itself, by upstream.
	locals map[string]mcpgate.Local
	// calls are the gateway's own sessions with the upstreams.
	calls *tools
	place Place
	// reach leads commands of deed that the log names to rules and ledger.
	reach leading
	log   func(string)
	flush func(context.Context) error
	newer sync.Once
	// apart: the clocks of this machine and of the ledger differ, and that was told.
	apart sync.Once
	// clocks is what the latest event said of them.
	clocks atomic.Pointer[string]
	// approved wakes the runner.
	approved chan struct{}
	tally    *console.Tally
	notices  *notices
	// doubts and outage are nil where nobody is served.
	doubts   *doubts
	outage   *outage
	fence    *fenced
	outdated outdated
	// listed is told the tools that an upstream lists.
	listed func(upstream string, names []string)
	ending stopReport
	// looks are what was begun and not waited for.
	looks sync.WaitGroup
	// asks: servers are asked for the schemas by which people's edits are judged.
	asks bool
}

// OnDatabase reports whether the ledger is one that gateways on many machines
// may share.
func (c *Core) OnDatabase() bool { return c.place.Database() }

// Place is where the ledger is.
func (c *Core) Place() Place { return c.place }

// Open opens the ledger and puts a Runtime over it. It starts nothing.
func Open(ctx context.Context, o Options) (*Core, error) {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	clock, err := processClock(o.getenv)
	if err != nil {
		return nil, err
	}
	routes, err := routesOf(o.Config)
	if err != nil {
		return nil, err
	}
	ledger, err := openLedger(ctx, o.Ledger, notifications(o.Config, o.Ledger), clock, o.Existing)
	if err != nil {
		return nil, err
	}
	c := &Core{Config: o.Config, Ledger: ledger, Policy: routed(o.Config.Policy(), routes), routes: routes, Clock: clock, place: o.Ledger, reach: leadingTo(o.Config, o.Ledger), log: o.Log, approved: make(chan struct{}, 1), tally: console.NewTally(clock)}
	c.ending.reach = c.reach
	if err := c.openConnectors(o.getenv); err != nil {
		return nil, errors.Join(err, ledger.Close())
	}
	c.Policy = connected{c.Policy, c}
	if o.Transport != "" {
		c.Policy = &announcing{Policy: c.Policy, log: o.Log}
	}
	c.fence = newFenced(c.Policy, ledger)
	if o.Transport != "" {
		c.fence.log, c.fence.reach = o.Log, c.reach
	}
	c.Policy = c.fence
	if _, err := c.fence.look(ctx); err != nil {
		o.Log("whether a fence stands could not be read; until it can be, calls that change something wait for a person: " + err.Error())
	}
	if err := c.wire(ctx, o); err != nil {
		return nil, errors.Join(err, ledger.Close())
	}
	if exposed := o.Ledger.Exposed(); exposed != "" {
		o.Log(exposed + "; run chmod 600 on it")
	}
	if o.Transport != "" {
		c.looks.Go(func() { c.tellNewer(context.WithoutCancel(ctx)) })
	}
	return c, nil
}

// ledgerIsNewer tells whoever runs the gateway that it refuses every mutation.
func (c *Core) ledgerIsNewer() {
	c.newer.Do(func() { c.log("ledger " + c.place.String() + ": " + Newer) })
}

// ledgerProblem tells the log of a problem with the ledger, by the ledger's name.
func (c *Core) ledgerProblem(text string) { c.log("ledger " + c.place.String() + ": " + text) }

// lookAtLedger learns whether a newer version took the ledger over, and during an
// outage whether it has ended: without calls nobody else would. That the ledger cannot
// be read is told by others.
func (c *Core) lookAtLedger(ctx context.Context) (int, error) {
	if c.outage != nil && c.outage.stands() {
		probe := &health{store: c.Ledger, clock: c.Clock, outage: c.outage}
		_ = probe.check(ctx) // the outage is told of it
	}
	if newer, err := WrittenByNewer(ctx, c.Ledger); err == nil && newer {
		return 0, deed.ErrLedgerVersion
	}
	return 0, nil
}

// tellNewer looks at the ledger's version as a gateway starts. It may wait for
// the ledger's lock, which must not delay the gateway.
func (c *Core) tellNewer(ctx context.Context) {
	if newer, err := WrittenByNewer(ctx, c.Ledger); err == nil && newer {
		c.ledgerIsNewer()
	}
}

func (c *Core) wire(ctx context.Context, o Options) error {
	observer := c.observe(ctx, o)
	if o.Transport != "" {
		c.notices, c.doubts = openNotices(c), &doubts{core: c}
		c.outage = &outage{ledger: c.place.String(), clock: c.Clock, log: c.log, reach: c.reach}
	}
	store, err := crashing(telemetry.Measured(c.Ledger, observer), o.getenv)
	if err != nil {
		return err
	}
	c.Runtime, err = deed.New(deed.Options{
		Store: store, Policy: c.Policy, Clock: c.Clock, Observer: overheard(placed(observer), c.answered, c.hear), NFC: norm.NFC.String,
		Reconciler: c.reconciler(), CheckEdited: c.checkEdited,
	})
	if err != nil {
		return err
	}
	consents, err := consentVerifier(c.Config.Auth.Consents, c.Clock)
	if err != nil {
		return err
	}
	defaults := c.Config.Defaults
	c.listed = c.tellUnlisted(o)
	c.gate, err = mcpgate.NewGate(mcpgate.GateOptions{
		Ledger: c.Runtime, Policy: c.Policy, Clock: c.Clock, Log: o.Log,
		Pins:             &mcpgate.Pins{Settings: c.Ledger, Now: c.Clock.Now, Command: c.reach.command},
		Outcomes:         answerRules(c.Config),
		CallIDs:          defaults.CallIDs,
		UpstreamIdentity: c.identityOf,
		RunsApproved:     o.Transport != "" && asksPeople(c.Config),
		Wiring:           c.wiring,
		Elsewhere:        c.read,
		VerifyConsent:    consents,
		HideOperations:   !defaults.DeedOperations,
		Trace:            tracing{},
		Listed:           c.listed,
	})
	if err != nil {
		return err
	}
	c.upstreams = map[string]mcpgate.Upstream{}
	for name, up := range c.Config.Upstreams {
		c.upstreams[name] = NewUpstream(up, o.Environ, c.Clock, o.Stderr, o.Log)
	}
	for name, tools := range c.locals {
		c.upstreams[name] = mcpgate.LocalUpstream{Tools: tools, Name: name, Version: o.Build}
	}
	c.calls = newTools(c.gate, c.upstreams, c.Config.Programs)
	return nil
}

// answered is told of every answer to a call.
func (c *Core) answered(answer deed.Answer) {
	if c.outage != nil {
		c.outage.answered(answer)
	}
}

// hear is told of every event that this process records.
func (c *Core) hear(ctx context.Context, event deed.Event) {
	c.tally.Recorded(ctx, event)
	c.compareClocks(event)
	named := c.ending.hear(ctx, event)
	if text := c.outdated.hear(event); text != "" {
		c.log(text)
	}
	if c.notices != nil {
		c.notices.hear(event)
	}
	if c.doubts != nil {
		c.doubts.hear(event, named)
		c.outage.heard(event)
	}
	if event.Name == deed.EventApproved && event.To == deed.StatusAuthorized {
		select {
		case c.approved <- struct{}{}:
		default:
		}
	}
}

// Upstream returns the connection to a configured server.
func (c *Core) Upstream(name string) (mcpgate.Upstream, bool) {
	up, ok := c.upstreams[name]
	return up, ok
}

// Close waits for dispatches, ends the Runtime and closes the ledger. Attempts
// still running when ctx ends are uncertain.
func (c *Core) Close(ctx context.Context) error {
	c.ending.begin()
	err := errors.Join(c.gate.Close(ctx), c.calls.Close(), c.Runtime.Close(ctx))
	if left := c.ending.text(); left != "" {
		c.log(left)
	}
	for _, tools := range c.locals {
		closeTools(tools)
	}
	c.looks.Wait()
	c.notices.close(ctx)
	err = errors.Join(err, c.Ledger.Close(), c.flush(ctx))
	if err != nil {
		return fmt.Errorf("stopping: %w", err)
	}
	return nil
}
