// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"net/http"
	"path"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/canon"
)

// Runtime is what the API asks of a deed.Runtime.
type Runtime interface {
	Claim(ctx context.Context, call deed.Call) (deed.Answer, *deed.Grant, error)
	Regrant(ctx context.Context, who deed.Principal, id deed.OperationID, attempt int, token string) (*deed.Grant, error)
	Renew(ctx context.Context, grant *deed.Grant) error
	Settle(ctx context.Context, grant *deed.Grant, outcome deed.Outcome) (deed.Answer, error)
	Note(ctx context.Context, grant *deed.Grant, outcome deed.Outcome) error
	Delivered(ctx context.Context, answer deed.Answer)
	Get(ctx context.Context, who deed.Principal, id deed.OperationID) (*deed.Operation, error)
	List(ctx context.Context, who deed.Principal, query deed.Query) (deed.Page, error)
	Waiting(ctx context.Context, who deed.Principal, query deed.Query) (deed.Page, error)
	Events(ctx context.Context, who deed.Principal, id deed.OperationID) ([]deed.Event, error)
	Resolve(ctx context.Context, who deed.Principal, id deed.OperationID, resolution deed.Resolution) (*deed.Operation, error)
	Cancel(ctx context.Context, who deed.Principal, id deed.OperationID, reason string) (*deed.Operation, error)
	Reopen(ctx context.Context, who deed.Principal, id deed.OperationID, reason string) (*deed.Operation, error)
	Approve(ctx context.Context, who deed.Principal, id deed.OperationID, consent deed.Consent) (*deed.Operation, error)
	Deny(ctx context.Context, who deed.Principal, id deed.OperationID, consent deed.Consent) (*deed.Operation, error)
	EditAndApprove(ctx context.Context, who deed.Principal, id deed.OperationID, digest deed.Digest, arguments []byte, reason string) (*deed.Operation, error)
	Reconcile(ctx context.Context, who deed.Principal, id deed.OperationID) (deed.Finding, error)
	Budgets(ctx context.Context, who deed.Principal, budgets []deed.Budget) ([]deed.BudgetStatus, error)
}

// ErrUnknownTool is what Tools returns, wrapped, for a tool that is not
// configured.
var ErrUnknownTool = errors.New("no such tool")

// Tools calls configured tools. Implementations let every call pass the
// Runtime, and are safe for concurrent use.
type Tools interface {
	// Call runs one call of a tool to its answer. The call carries principal,
	// tool, arguments, keys and facts as the request had them; what is known of
	// the tool is the implementation's to add. ctx ends when the caller leaves:
	// that ends the call, never the operation. An error says that there is no
	// answer: ErrUnknownTool, or ctx's own.
	Call(ctx context.Context, call deed.Call) (deed.Answer, error)
}

// Authenticator finds out who makes a request; false when nobody known does.
type Authenticator func(*http.Request) (deed.Principal, bool)

// Options configure a Server. Runtime and Auth are required.
type Options struct {
	Runtime Runtime
	Auth    Authenticator
	// Tools is nil for a gateway without tools of its own.
	Tools Tools
	// Run sends the snapshot of an operation again; nil for a gateway without
	// tools of its own.
	Run Runner
	// Budgets are those that are configured.
	Budgets []deed.Budget
	// Short tells whether the budget of an operation has no room for it as it
	// stands; nil where nothing is known of budgets.
	Short func(context.Context, deed.Principal, *deed.Operation) (why deed.BudgetRefusal, short bool, err error)
	// Fence tells the fence that stands over the ledger, nil for none; nil where
	// nothing is known of fences.
	Fence func() *api.Fence
	// Policy names the family of a claim's key where the claim does not;
	// by default deed.FamilyOperation.
	Policy deed.Policy
	// Facts tells what is known of a tool that is claimed, such as where its
	// effects go; by default nothing.
	Facts func(deed.Tool) deed.ToolFacts
	// Clock tells effective statuses; the system's by default.
	Clock deed.Clock
	// MaxBody is the longest request body in bytes, by default and at most 4 MiB.
	MaxBody int64
	// ReadWithin bounds how long a request's body may take to arrive, and
	// WriteWithin how long its answer may take to leave; 30 s by default. What
	// lies between is the Runtime's and the tool's time.
	ReadWithin  time.Duration
	WriteWithin time.Duration
	// Hosts are further names that this server is reached by on a loopback
	// address, beside localhost.
	Hosts []string
	// Build is the version that /openapi.json names.
	Build string
}

// Server is the handler of /v1 and /openapi.json. It is safe for concurrent
// use and owns no goroutines.
type Server struct {
	Options
	handler  http.Handler
	document []byte
	shapes   shapes
	out      *claimsOut
}

// New returns a Server.
func New(o Options) (*Server, error) {
	switch {
	case o.Runtime == nil:
		return nil, errors.New("server: Options.Runtime is not set: nothing could be decided")
	case o.Auth == nil:
		return nil, errors.New("server: Options.Auth is not set: nobody could be told from anybody")
	}
	if o.Facts == nil {
		o.Facts = func(deed.Tool) deed.ToolFacts { return deed.ToolFacts{} }
	}
	if o.Clock == nil {
		o.Clock = deed.SystemClock{}
	}
	if o.MaxBody <= 0 || o.MaxBody > canon.MaxMessageBytes {
		o.MaxBody = canon.MaxMessageBytes
	}
	if o.ReadWithin <= 0 {
		o.ReadWithin = 30 * time.Second
	}
	if o.WriteWithin <= 0 {
		o.WriteWithin = 30 * time.Second
	}
	if o.Build == "" {
		o.Build = "development"
	}
	s := &Server{Options: o, out: newClaimsOut()}
	document, err := describe(routes(), o.Build)
	if err != nil {
		return nil, err
	}
	s.document, s.shapes = document, shapesOf(routes())
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(s.crossOrigin))
	s.handler = origins.Handler(s.mux(routes()))
	return s, nil
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if why := s.foreign(r); why != "" {
		s.write(w, r, problem(http.StatusForbidden, api.TypeCrossOrigin, "The request does not name this server", why))
		return
	}
	// A multiplexer would redirect to the clean path, and a redirect of a POST
	// is a second request.
	if clean := path.Clean(r.URL.Path); clean != r.URL.Path && clean+"/" != r.URL.Path {
		s.write(w, r, notFound())
		return
	}
	s.handler.ServeHTTP(w, r)
}

func (s *Server) crossOrigin(w http.ResponseWriter, r *http.Request) {
	s.write(w, r, problem(http.StatusForbidden, api.TypeCrossOrigin, "A page of another origin may not ask this",
		"nothing was done; this API serves programs, and browser pages of its own origin only"))
}
