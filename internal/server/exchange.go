// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/loopback"
	"github.com/deed-run/deed/internal/problems"
)

// exchange is one authenticated request.
type exchange struct {
	*http.Request
	who  deed.Principal
	body []byte
	// arrived is when the request came, before its body was read.
	arrived time.Time
	shapes  shapes
}

// id is the operation that the path names.
func (x *exchange) id() deed.OperationID { return deed.OperationID(x.PathValue("id")) }

// reply is what is answered.
type reply struct {
	status int
	header http.Header
	body   any
	// delivered, when set, is called after the answer was handed over.
	delivered func()
}

func answer(status int, body any) reply {
	return reply{status: status, header: http.Header{}, body: body}
}

// problem is an answer of RFC 9457.
func problem(status int, kind, title, detail string) reply {
	return answer(status, &api.Problem{Type: api.ProblemPage + "#" + kind, Title: title, Status: status, Detail: detail})
}

// serve runs one route: who asks, what with, the answer.
func (s *Server) serve(route route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		arrived := s.Clock.Now()
		who, known := s.Auth(r)
		if !known {
			s.write(w, r, unauthenticated(r))
			return
		}
		if route.gives {
			defer s.out.asks()()
		}
		x := &exchange{Request: r, who: who, arrived: arrived, shapes: s.shapes}
		if route.request != nil {
			if no, refused := s.read(w, x); refused {
				s.write(w, r, no)
				return
			}
		}
		s.write(w, r, route.handle(s, x))
	}
}

// unauthenticated asks for a bearer token (RFC 6750 section 3).
func unauthenticated(r *http.Request) reply {
	no := problem(http.StatusUnauthorized, api.TypeUnauthenticated, problems.UnknownTitle, "nothing was done; "+problems.SendToken)
	no.body.(*api.Problem).Decision, no.body.(*api.Problem).Reason = deed.Denied, deed.ReasonUnauthenticated
	no.header.Set("WWW-Authenticate", problems.Challenge(r))
	return no
}

// notFound is the same for what is not there and for what is not the caller's.
func notFound() reply {
	return problem(http.StatusNotFound, api.TypeNotFound, "There is no such thing", "it does not exist, or is not yours to see")
}

// failure turns an error of the Runtime into its answer.
func (s *Server) failure(err error) reply {
	var refused *deed.RefusedError
	var damaged *deed.DamagedError
	switch {
	case errors.Is(err, deed.ErrNotFound):
		return notFound()
	case errors.Is(err, deed.ErrForbidden):
		no := problem(http.StatusForbidden, api.TypeForbidden, "It is not permitted", err.Error())
		no.body.(*api.Problem).Decision, no.body.(*api.Problem).Reason = deed.Denied, deed.ReasonForbidden
		return no
	case errors.As(err, &refused):
		no := problem(http.StatusConflict, api.TypeRefused, "The operation does not permit it where it stands", refused.Error())
		s.about(no.body.(*api.Problem), refused.Operation)
		return no
	case errors.Is(err, deed.ErrArguments):
		return malformed(err.Error() + "; nothing was changed")
	case errors.Is(err, deed.ErrLookedUp):
		return problem(http.StatusConflict, api.TypeRefused, "The operation is being looked up", err.Error()+"; nothing was asked")
	case errors.Is(err, deed.ErrVersion):
		return problem(http.StatusConflict, api.TypeVersion, "The operation has moved meanwhile", err.Error()+"; nothing was changed; look at it again")
	case errors.Is(err, deed.ErrUnavailable), errors.Is(err, deed.ErrCommitUnknown), errors.Is(err, deed.ErrLedgerVersion):
		return s.unavailable("the ledger does not answer; ask again later")
	case errors.Is(err, deed.ErrUnchecked):
		return noAnswer(err.Error() + "; nothing was changed")
	case errors.As(err, &damaged):
		no := problem(http.StatusInternalServerError, api.TypeDamaged, "The record is damaged", err.Error()+"; nothing was changed; restore the ledger, or deny, resolve or cancel it, which takes no arguments")
		s.about(no.body.(*api.Problem), damaged.Operation)
		return no
	case errors.Is(err, deed.ErrClosed):
		return noAnswer("this gateway is closing; nothing was begun; ask again, under the same key")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return noAnswer("the caller left, or there was none in time; ask again, under the same key")
	}
	return problem(http.StatusInternalServerError, api.TypeInternal, "Something unforeseen went wrong", "it is not known whether anything was changed; look at the operation")
}

func (s *Server) unavailable(detail string) reply {
	no := problem(http.StatusServiceUnavailable, api.TypeUnavailable, "The ledger cannot be reached", detail)
	no.body.(*api.Problem).Reason = deed.ReasonStoreUnavailable
	no.header.Set("Retry-After", "1")
	return no
}

func noAnswer(detail string) reply {
	no := problem(http.StatusServiceUnavailable, api.TypeNoAnswer, "There is no answer", detail)
	no.header.Set("Retry-After", "1")
	return no
}

// about adds the operation that a problem is about.
func (s *Server) about(p *api.Problem, op *deed.Operation) {
	if op == nil {
		return
	}
	view := s.view(op, false)
	p.Operation, p.OperationID, p.OperationStatus = &view, op.ID, view.Status
}

// write sends an answer. Answers are never cached: they are about a caller.
func (s *Server) write(w http.ResponseWriter, r *http.Request, a reply) {
	header := w.Header()
	for name, values := range a.header {
		header[name] = values
	}
	header.Set("Content-Type", "application/json")
	if p, is := a.body.(*api.Problem); is {
		header.Set("Content-Type", "application/problem+json")
		p.Instance = r.URL.EscapedPath()
	}
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	var doc bytes.Buffer
	encoder := json.NewEncoder(&doc)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(a.body); err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	header.Set("Content-Length", strconv.Itoa(doc.Len()))
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(s.WriteWithin))
	w.WriteHeader(a.status)
	if _, err := w.Write(doc.Bytes()); err != nil {
		return
	}
	if err := control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return
	}
	if a.delivered != nil {
		a.delivered()
	}
}

// foreign says why a name that points at this machine (DNS rebinding) is not
// answered, or "".
func (s *Server) foreign(r *http.Request) string {
	if loopback.Foreign(r, s.Hosts) {
		return loopback.ForeignHost + "; nothing was done"
	}
	return ""
}
