// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// Ledger is what a Gate asks of a deed.Runtime.
type Ledger interface {
	Claim(ctx context.Context, call deed.Call) (deed.Answer, *deed.Grant, error)
	Settle(ctx context.Context, grant *deed.Grant, outcome deed.Outcome) (deed.Answer, error)
	Renew(ctx context.Context, grant *deed.Grant) error
	Delivered(ctx context.Context, answer deed.Answer)
	Get(ctx context.Context, principal deed.Principal, id deed.OperationID) (*deed.Operation, error)
	List(ctx context.Context, principal deed.Principal, query deed.Query) (deed.Page, error)
	Cancel(ctx context.Context, principal deed.Principal, id deed.OperationID, reason string) (*deed.Operation, error)
	CallOf(ctx context.Context, principal deed.Principal, id deed.OperationID) (deed.Call, error)
	CallOfAuthorized(ctx context.Context, tenant deed.Tenant, id deed.OperationID) (deed.Call, error)
}

// GateOptions configure a Gate. Ledger and Policy are required.
type GateOptions struct {
	Ledger Ledger
	Policy deed.Policy
	// Pins remembers tool definitions; nil pins nothing.
	Pins *Pins
	// Outcomes returns how a tool's answers are read, by default by the shipped tables alone.
	Outcomes func(tool deed.Tool) outcome.Rules
	// CallIDs names the _meta members that hold clients' stable call ids, by default claudecode/toolUseId.
	CallIDs []string
	// UpstreamIdentity tells where the effects of an upstream's tools go, by default its name.
	UpstreamIdentity func(upstream string) string
	// HideOperations leaves the tool deed_operations out.
	HideOperations bool
	// Progress is how often a waiting client with a progress token hears that its call goes on, by default every 15 s.
	Progress time.Duration
	// RunsApproved says that approved operations are run by themselves, unless their rule leaves that to the caller.
	RunsApproved bool
	// Wiring returns what is configured of a tool beside its rule, by default nothing.
	Wiring func(tool deed.Tool) Wiring
	// Elsewhere calls a read-only tool of another upstream than the call's, as Probe does; nil reaches none.
	Elsewhere func(ctx context.Context, tool deed.Tool, arguments []byte) ([]byte, error)
	// VerifyConsent verifies an approval that was given elsewhere, from _meta["deed/approval"]; nil accepts none. The error is for people.
	VerifyConsent func(ctx context.Context, signed string) (*deed.ExternalConsent, error)
	// Trace carries trace context; nil leaves the requests' own as it is.
	Trace Tracing
	// Clock is the system's by default.
	Clock deed.Clock
	// Listed is told the names of an upstream's tools at the end of every list, in no order; it must not block.
	Listed func(upstream string, names []string)
	// Log takes what a person should know, by default a line on stderr.
	Log func(text string)
}

// Gate is the Guard that lets every tool call that changes things pass through a deed.Runtime. It serves any number of sessions and
// upstreams. Close it after them.
type Gate struct {
	ledger           Ledger
	policy           deed.Policy
	pins             *Pins
	outcomes         func(deed.Tool) outcome.Rules
	callIDs          []string
	wiring           func(deed.Tool) Wiring
	runsApproved     bool
	elsewhere        func(context.Context, deed.Tool, []byte) ([]byte, error)
	verifyConsent    func(context.Context, string) (*deed.ExternalConsent, error)
	upstreamIdentity func(string) string
	hideOperations   bool
	progress         time.Duration
	trace            Tracing
	clock            deed.Clock
	listed           func(string, []string)
	logTo            func(string)

	prefix  string
	serial  atomic.Uint64
	catalog catalog
	asked   questions
	work    sync.WaitGroup
	logged  sync.Map // texts already logged
	shadow  sync.Map // upstreams that have a deed_operations of their own
}

// NewGate returns a Gate over a Runtime.
func NewGate(o GateOptions) (*Gate, error) {
	if o.Ledger == nil || o.Policy == nil {
		return nil, errors.New("mcpgate: GateOptions needs a Ledger and a Policy: nothing could be decided")
	}
	g := &Gate{
		ledger: o.Ledger, policy: o.Policy, pins: o.Pins, outcomes: o.Outcomes, callIDs: o.CallIDs, wiring: o.Wiring, runsApproved: o.RunsApproved,
		elsewhere: o.Elsewhere, verifyConsent: o.VerifyConsent,
		upstreamIdentity: o.UpstreamIdentity, hideOperations: o.HideOperations, progress: o.Progress, trace: o.Trace, clock: o.Clock,
		listed: o.Listed, logTo: o.Log,
		prefix:  "deed-gate-" + rand.Text()[:10] + "-",
		catalog: catalog{tools: map[deed.Tool]*described{}, whole: map[string]bool{}, asked: map[string]time.Time{}, listing: map[string]*listing{}},
	}
	if g.outcomes == nil {
		g.outcomes = func(deed.Tool) outcome.Rules { return outcome.Rules{} }
	}
	if g.wiring == nil {
		g.wiring = func(deed.Tool) Wiring { return Wiring{} }
	}
	if g.callIDs == nil {
		g.callIDs = []string{"claudecode/toolUseId"}
	}
	if g.upstreamIdentity == nil {
		g.upstreamIdentity = func(upstream string) string { return upstream }
	}
	if g.progress <= 0 {
		g.progress = 15 * time.Second
	}
	if g.clock == nil {
		g.clock = deed.SystemClock{}
	}
	if g.listed == nil {
		g.listed = func(string, []string) {}
	}
	if g.logTo == nil {
		g.logTo = func(text string) { fmt.Fprintln(os.Stderr, "deed: "+text) }
	}
	return g, nil
}

// Close waits until every dispatch has been settled, or ctx ends. Close the sessions first: that ends what they wait for.
func (g *Gate) Close(ctx context.Context) error {
	idle := make(chan struct{})
	go func() { g.work.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("mcpgate: dispatches are still being settled: %w", ctx.Err())
	}
}

func (g *Gate) ownID() json.RawMessage {
	return json.RawMessage(`"` + g.prefix + strconv.FormatUint(g.serial.Add(1), 10) + `"`)
}

// claim asks the ledger, and tells a person why it could not answer: models are only told that it cannot be reached.
func (g *Gate) claim(ctx context.Context, call deed.Call) (deed.Answer, *deed.Grant, error) {
	answer, grant, err := g.ledger.Claim(ctx, call)
	if answer.Reason == deed.ReasonStoreUnavailable && answer.Text != "" {
		g.log(fmt.Sprintf("%s: not sent: %s", call.Tool, answer.Text))
	}
	return answer, grant, err
}

// log writes a text once.
func (g *Gate) log(text string) {
	if _, seen := g.logged.LoadOrStore(text, true); !seen {
		g.logTo(text)
	}
}
