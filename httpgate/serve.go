// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/loopback"
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
	// errorWithin bounds how long the body of an error may take; 0 where a handler
	// writes it, which ends when it ends.
	errorWithin time.Duration
	// cookies of answers are the caller's own.
	cookies bool
	// origins, where this gateway is reached by browsers itself.
	origins *http.CrossOriginProtection
}

// ServeHTTP serves one request.
func (s *side) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.origins != nil {
		if why := loopback.Stranger(r, s.hosts); why != "" {
			crossOrigin(why).write(w, r)
			return
		}
		if err := s.origins.Check(r); err != nil {
			crossOrigin(err.Error()).write(w, r)
			return
		}
	}
	f := s.look(r)
	folds := f.route == nil && s.routes.folds(r.Method)
	if !f.named && f.wrong == "" && !folds && !s.known && (safe(r.Method) || s.unnamed == UnnamedPass) {
		s.pass.ServeHTTP(w, r)
		return
	}
	who, known := s.auth(r)
	switch {
	case !known:
		unauthenticated(r).write(w, r)
	case f.wrong != "":
		malformed(f.wrong).write(w, r)
	case f.route == nil && (s.unnamed != UnnamedPass || folds):
		problem(http.StatusMethodNotAllowed, "method-not-allowed", "The method is not known here", "nothing was sent; spell it in capitals, or name it in a route").write(w, r)
	case f.route == nil, !f.named && s.unnamed == UnnamedPass && !safe(r.Method):
		s.servePassed(w, r, who)
	case !f.named && s.unnamed == UnnamedRefuse && !safe(r.Method):
		problem(http.StatusForbidden, "forbidden", "No route names this request", "nothing was sent").write(w, r)
	case !s.mutates(f.route):
		s.serveRead(w, r, f.route, f.values, who)
	case safe(r.Method) && s.origins != nil && s.origins.Check(changing(r)) != nil:
		crossOrigin("the request changes things, whatever its method is").write(w, r)
	default:
		s.guard(w, r, f.route, f.values, who)
	}
}

func crossOrigin(why string) refused {
	return problem(http.StatusForbidden, problems.CrossOrigin, "A page of another origin may not ask this", "nothing was sent: "+why)
}

// changing is a request as it would be with a method that says that it changes
// things: which pages may make it depends on that.
func changing(r *http.Request) *http.Request {
	as := *r
	as.Method = http.MethodPost
	return &as
}

// servePassed lets through what no route names, for whom may call.
func (s *side) servePassed(w http.ResponseWriter, r *http.Request, who deed.Principal) {
	if !who.May(deed.RightCall) {
		problem(http.StatusForbidden, "forbidden", "A right is missing", "nothing was sent; it takes the right call").write(w, r)
		return
	}
	s.pass.ServeHTTP(w, r)
}

// serveRead lets a read through, within its limits and conditions. It is not
// recorded, and passes without a ledger.
func (s *side) serveRead(w http.ResponseWriter, r *http.Request, route *Route, values []value, who deed.Principal) {
	call := deed.Call{Principal: who, Tool: route.tool(), Arguments: []byte("{}")}
	if s.policy.Rule(route.tool(), deed.ToolFacts{}).Deny != nil {
		// A condition judges what it would judge of a request that changes things.
		x, err := s.read(w, r, route, values)
		switch {
		case errors.Is(err, errTooLong):
			tooLong(err).write(w, r)
			return
		case err == nil:
			call.Arguments, err = route.arguments(x)
		}
		if err != nil {
			malformed(err.Error()+"; a condition of the route could not be judged, and nothing was sent").write(w, r)
			return
		}
		r = begun(r, x.body)
	}
	answer, grant, err := s.runtime.Claim(r.Context(), call)
	switch {
	case err != nil:
		gone(err).write(w, r)
	case grant == nil:
		s.refusal(r, route, answer).write(w, r)
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
	switch {
	case wrong != "" && observing:
		s.unguarded(w, r, x.body)
		return
	case wrong != "":
		s.refusal(r, route, deed.Answer{Decision: deed.Denied, Reason: reason, Text: wrong}).write(w, r)
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
func (s *side) unguarded(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set(headerWouldBe, string(deed.Denied))
	s.pass.ServeHTTP(w, begun(r, body))
}

// begun is a request of whose body a part, or all, has been read.
func begun(r *http.Request, body []byte) *http.Request {
	rest := r.Body
	again := r.Clone(r.Context())
	if rest != nil && rest != http.NoBody {
		again.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), rest), rest}
	}
	return again
}

// await gives the caller what comes first: the outcome, the beginning of a long
// answer, or the end of its patience or of its request. The attempt goes on
// whatever it is.
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
		// Who ended it may still listen: a client that closed its side of the
		// connection, or one behind a handler that bounds its requests. Nothing
		// written would be 200.
		s.answered(w, r, route, a.grant.StillRunning())
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
