// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// Options configure a Console. Runtime is required, and at least one way to
// know who asks: Tokens, OIDC or Local.
type Options struct {
	Runtime Runtime
	// Probes looks operations up at their provider; nil offers no look-up.
	Probes Probes
	// Budgets tells how budgets stand; nil has no such page.
	Budgets Budgets

	// Tokens finds who carries the bearer token with this SHA-256, in lower-case
	// hexadecimal digits; nil admits no token. It is asked again at each request
	// of a session.
	Tokens func(sha256 string) (deed.Principal, bool)
	// Sessions keeps the logins, so that every Console over the same values knows
	// them; nil keeps them in this process. Local has no use for it.
	Sessions Settings
	// OIDC is login at an identity provider; nil offers none.
	OIDC *OIDC
	// Local is who reads without logging in where neither tokens nor OIDC are
	// configured. Its rights are cut down to reading: whoever reaches the port
	// is nobody known. Requests from other machines are refused then.
	Local *deed.Principal
	// Bootstrap is the token that a local process prints at its start; whoever
	// shows it may decide as Local with every right. Empty admits nobody.
	Bootstrap string

	// Hosts are the names this console is reached by, beside localhost and
	// addresses of loopback: without ports. Others are refused (DNS rebinding).
	Hosts []string
	// Secure is set when browsers reach it over TLS; cookies then say so.
	Secure bool
	// Address is the base URL that commands to copy name; by default the one
	// that the request came to.
	Address string
	// Ledger is what commands to copy name with --ledger in place of a server, where
	// nobody may decide through its API because no auth is configured; empty where
	// somebody may. Config is the file that look-ups need beside it.
	Ledger, Config string
	// TraceURL is a link to a trace with {trace_id}, {operation_id}, {tool},
	// {key} and {meta.NAME} in it; empty shows none.
	TraceURL string
	// Tally counts the decisions of the last hour; nil shows none.
	Tally *Tally
	// Health says whether the ledger takes writes; nil is not asked.
	Health func(context.Context) error
	// Fence tells the fence that stands over the ledger, nil for none; nil is not
	// asked.
	Fence func() *Fence
	// Risk says how dangerous an operation is and why; by default its effect
	// class decides.
	Risk func(*deed.Operation) (Risk, string)
	// Clock is the system's by default.
	Clock deed.Clock
	// LookEvery is how often live pages look at the ledger; 2 s by default.
	LookEvery time.Duration
}

// Fence says that the ledger has lost what was written to it from Since to SetAt, so
// that what waits for a person may have been done already.
type Fence struct {
	Since, SetAt time.Time
	SetBy        deed.Actor
	Reason       string
}

func (c *Console) fence() *Fence {
	if c.Fence == nil {
		return nil
	}
	return c.Fence()
}

// Console is the handler of the pages. It is safe for concurrent use. Close
// ends its streams.
type Console struct {
	Options
	handler  http.Handler
	pages    map[string]*template.Template
	assets   map[string]asset
	sessions *sessions
	streams  chan struct{}
	ended    chan struct{}
	end      sync.Once
}

// New returns a Console.
func New(o Options) (*Console, error) {
	switch {
	case o.Runtime == nil:
		return nil, errors.New("console: Options.Runtime is not set: there would be nothing to show")
	case o.Tokens == nil && o.OIDC == nil && o.Local == nil:
		return nil, errors.New("console: none of Options.Tokens, OIDC and Local is set: nobody could be told from anybody")
	case o.Local != nil && (o.Tokens != nil || o.OIDC != nil):
		return nil, errors.New("console: Options.Local is for use without Tokens and OIDC: it reads without logging in")
	case o.Bootstrap != "" && o.Local == nil:
		return nil, errors.New("console: Options.Bootstrap belongs to Local: with Tokens or OIDC it would be a back door")
	case o.Bootstrap != "" && len(o.Bootstrap) < 32:
		return nil, errors.New("console: Options.Bootstrap has fewer than 32 characters: it could be guessed")
	}
	if o.OIDC != nil {
		if err := o.OIDC.check(); err != nil {
			return nil, fmt.Errorf("console: Options.OIDC: %w", err)
		}
	}
	if err := checkTemplate(o.TraceURL); err != nil {
		return nil, fmt.Errorf("console: Options.TraceURL: %w", err)
	}
	if o.Clock == nil {
		o.Clock = deed.SystemClock{}
	}
	if o.LookEvery <= 0 {
		o.LookEvery = 2 * time.Second
	}
	if o.Risk == nil {
		o.Risk = riskOf
	}
	if o.Local != nil {
		o.Sessions = nil // its token ends with the process
	}
	o.Address = strings.TrimSuffix(o.Address, "/")
	c := &Console{
		Options: o, sessions: newSessions(o.Clock, o.Sessions),
		streams: make(chan struct{}, maxStreams), ended: make(chan struct{}),
	}
	var err error
	if c.assets, err = readAssets(); err != nil {
		return nil, err
	}
	if c.pages, err = c.parsePages(); err != nil {
		return nil, err
	}
	c.handler = c.guard(c.routes())
	return c, nil
}

// Close ends the live streams, which would otherwise hold up a shutdown.
func (c *Console) Close() { c.end.Do(func() { close(c.ended) }) }

// ServeHTTP serves one request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// routes names every page. What is not under open needs somebody known.
func (c *Console) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /assets/{name}", c.serveAsset)
	mux.HandleFunc("GET /login", c.showLogin)
	mux.HandleFunc("POST /login", c.login)
	mux.HandleFunc("POST /logout", c.logout)
	mux.HandleFunc("POST /theme", c.theme)
	mux.HandleFunc("POST /login/oidc", c.beginOIDC)
	mux.HandleFunc("GET /login/callback", c.finishOIDC)
	for pattern, show := range map[string]func(*visit){
		"GET /{$}":                (*visit).overview,
		"GET /flags":              (*visit).flags,
		"GET /ledger":             (*visit).ledger,
		"GET /ledger/live":        (*visit).ledgerLive,
		"GET /export":             (*visit).export,
		"GET /op/{id}":            (*visit).operation,
		"GET /op/{id}/live":       (*visit).operationLive,
		"GET /op/{id}/arguments":  (*visit).arguments,
		"GET /op/{id}/conflicts":  (*visit).conflicts,
		"POST /op/{id}/compare":   (*visit).compareGiven,
		"GET /compare":            (*visit).compare,
		"POST /op/{id}/resolve":   (*visit).resolve,
		"POST /op/{id}/cancel":    (*visit).cancel,
		"POST /op/{id}/reopen":    (*visit).reopen,
		"POST /op/{id}/probe":     (*visit).probe,
		"POST /op/{id}/approve":   (*visit).approve,
		"POST /op/{id}/deny":      (*visit).deny,
		"POST /op/{id}/edit":      (*visit).edit,
		"GET /uncertain":          (*visit).uncertain,
		"GET /approvals":          (*visit).approvals,
		"GET /approvals/live":     (*visit).approvalsLive,
		"POST /approvals/review":  (*visit).reviewMany,
		"POST /approvals/approve": (*visit).approveMany,
		"GET /budgets":            (*visit).budgets,
	} {
		mux.HandleFunc(pattern, c.known(show))
	}
	mux.HandleFunc("/", c.known((*visit).nowhere))
	return mux
}
