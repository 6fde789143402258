// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/problems"
)

// side is what stands behind a Gate: an upstream or a handler.
type side struct {
	*Gate
	sender sender
	// pass serves what is not guarded.
	pass http.Handler
	// known: also what is not guarded needs a principal.
	known bool
	// cookies of answers are the caller's own.
	cookies bool
	origins *http.CrossOriginProtection
}

// ServeHTTP serves one request.
func (s *side) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.origins != nil {
		if err := s.origins.Check(r); err != nil {
			problem(http.StatusForbidden, problems.CrossOrigin, "A page of another origin may not ask this", "nothing was sent: "+err.Error()).write(w, r)
			return
		}
	}
	segments, ok := splitPath(r.URL.EscapedPath())
	route, values, named := (*Route)(nil), []value(nil), false
	if ok {
		route, values, named = s.routes.find(r, segments)
	}
	veiled := false
	if ok && !safe(r.Method) {
		by := route
		if !named {
			by = nil
		}
		veiled = s.routes.veiled(r.Method, segments, by)
	}
	if !named && !veiled && !s.known && (safe(r.Method) || s.unnamed == UnnamedPass) {
		s.pass.ServeHTTP(w, r)
		return
	}
	who, known := s.auth(r)
	switch {
	case !known:
		unauthenticated(r).write(w, r)
	case veiled:
		malformed("the path is that of another route in another spelling, which the upstream may take for the same; nothing was sent; spell it as the route does, or name it in a route of its own").write(w, r)
	case !named && s.unnamed == UnnamedPass:
		s.pass.ServeHTTP(w, r)
	case route == nil && !ok:
		malformed("the path can be read in more than one way; nothing was sent").write(w, r)
	case route == nil:
		problem(http.StatusMethodNotAllowed, "method-not-allowed", "The method is not known here", "nothing was sent").write(w, r)
	case !named && !safe(r.Method) && s.unnamed == UnnamedRefuse:
		problem(http.StatusForbidden, "forbidden", "No route names this request", "nothing was sent").write(w, r)
	case !s.policy.Rule(route.tool(), deed.ToolFacts{}).Mutates():
		s.serveRead(w, r, route, who)
	default:
		s.guard(w, r, route, values, who)
	}
}

// serveRead lets a read through, within its limits. It is not recorded, and passes
// without a ledger.
func (s *side) serveRead(w http.ResponseWriter, r *http.Request, route *Route, who deed.Principal) {
	answer, grant, err := s.runtime.Claim(r.Context(), deed.Call{Principal: who, Tool: route.tool(), Arguments: []byte("{}")})
	switch {
	case err != nil:
		gone(err).write(w, r)
	case grant == nil:
		s.refusal(route, answer).write(w, r)
	default:
		s.pass.ServeHTTP(w, r)
		_, _ = s.runtime.Settle(r.Context(), grant, deed.Outcome{Kind: deed.OutcomeSuccess})
	}
}

// guard lets a request that changes things pass the Runtime.
func (s *side) guard(w http.ResponseWriter, r *http.Request, route *Route, values []value, who deed.Principal) {
	observing := s.policy.Rule(route.tool(), deed.ToolFacts{}).Mode == deed.ModeObserve
	x, err := s.read(w, r, route, values)
	if err != nil {
		switch {
		case !errors.Is(err, errTooLong):
			malformed(err.Error()+"; nothing was claimed and nothing was sent").write(w, r)
		case observing:
			s.unguarded(w, r, x.body)
		default:
			tooLong(err).write(w, r)
		}
		return
	}
	call, reason, wrong := s.call(route, who, x)
	if wrong != "" && (!observing || reason == deed.ReasonBadArguments) {
		if observing {
			s.unguarded(w, r, x.body)
			return
		}
		s.refusal(route, deed.Answer{Decision: deed.Denied, Reason: reason, Text: wrong}).write(w, r)
		return
	}
	answer, grant, err := s.runtime.Claim(r.Context(), call)
	switch {
	case err != nil:
		gone(err).write(w, r)
	case grant == nil:
		s.answered(w, r, route, answer)
	default:
		s.await(w, r, route, x, s.dispatch(route, x, grant))
	}
}

// unguarded lets a request through of which nothing can be recorded, in observe
// mode.
func (s *side) unguarded(w http.ResponseWriter, r *http.Request, begun []byte) {
	rest := r.Body
	again := r.Clone(r.Context())
	again.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begun), rest), rest}
	w.Header().Set(headerWouldBe, string(deed.Denied))
	s.pass.ServeHTTP(w, again)
}

// await gives the caller what comes first: the outcome, the beginning of a long
// answer, or the end of its patience. The attempt goes on whatever it is.
func (s *side) await(w http.ResponseWriter, r *http.Request, route *Route, x *reading, a *attempt) {
	defer close(a.left)
	select {
	case e := <-a.ended:
		select {
		case long := <-a.long:
			// It began and ended at once: nothing of it was handed over yet.
			select {
			case a.ended <- e:
			default:
			}
			s.stream(w, r, a, long)
		default:
			s.finished(w, r, route, e)
		}
	case long := <-a.long:
		s.stream(w, r, a, long)
	case <-s.clock.After(a.grant.Rule.AnswerWithin - s.clock.Now().Sub(x.arrived)):
		s.answered(w, r, route, a.grant.StillRunning())
	case <-r.Context().Done():
	}
}

// delivered tells the ledger that an answer was handed over.
func (s *side) delivered(r *http.Request, answer deed.Answer) {
	s.runtime.Delivered(context.WithoutCancel(r.Context()), answer)
}

func flush(w http.ResponseWriter) error {
	if err := http.NewResponseController(w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
