// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/keyheader"
	"github.com/deed-run/deed/internal/problems"
)

// codeOf is the status code of an answer: docs/tables.md section 6.
func codeOf(a deed.Answer) int {
	switch a.Decision {
	case deed.Execute:
		return codeOfAttempt(a)
	case deed.Replay:
		return http.StatusOK
	}
	if code := deed.HTTPStatus(a.Decision, a.Reason); code != 0 {
		return code
	}
	switch a.Decision {
	case deed.Denied:
		return http.StatusForbidden
	case deed.Failed, deed.Conflict:
		return http.StatusUnprocessableEntity
	}
	return http.StatusConflict
}

// codeOfAttempt is the code of an attempt that was made just now: its
// operation tells how it ended. Nothing is recorded of reads, and of what is
// only observed.
func codeOfAttempt(a deed.Answer) int {
	if a.Operation == nil && a.Effective == "" {
		switch {
		case a.Reason == "" || len(a.Result) > 0:
			return http.StatusOK
		case a.Reason == deed.ReasonRefused:
			return http.StatusUnprocessableEntity
		}
		return http.StatusBadGateway
	}
	switch a.Effective {
	case deed.StatusCommitted:
		return http.StatusOK
	case deed.StatusFailed, deed.StatusCancelled:
		if a.Reason == deed.ReasonNotSent {
			return http.StatusBadGateway
		}
		return http.StatusUnprocessableEntity
	}
	return http.StatusConflict
}

// verdict writes an answer of the Runtime down.
func (s *Server) verdict(a deed.Answer) api.Verdict {
	v := api.Verdict{
		Decision: a.Decision, Reason: a.Reason, WouldBe: a.WouldBe, RetryAfter: seconds(a.RetryAfter),
		SimilarTo: a.SimilarTo, Twin: a.Twin, Warning: a.Warning,
	}
	if len(a.Result) > 0 {
		if json.Valid(a.Result) {
			v.Result = a.Result
		} else {
			v.ResultBytes = a.Result
		}
	}
	if a.Operation != nil {
		view := s.view(a.Operation, false)
		if a.Effective != "" {
			view.Status = a.Effective
		}
		v.Operation = &view
	}
	return v
}

// answered turns an answer into a reply. body makes the body of one that is
// no problem.
func (s *Server) answered(x *exchange, a deed.Answer, body func(api.Verdict) any) reply {
	code := codeOf(a)
	v := s.verdict(a)
	var r reply
	if code < 300 {
		r = answer(code, body(v))
	} else {
		words := problems.Of(code, a, "")
		if x.Header.Get(keyheader.Name) == "" {
			words = words.Keyless()
		}
		r = answer(code, problemOf(code, words, a, v))
	}
	if code == http.StatusAccepted && a.Operation != nil {
		r.header.Set("Location", "/v1/operations/"+string(a.Operation.ID))
	}
	if a.Replayed() {
		r.header.Set("Idempotent-Replayed", "true")
	}
	if wait := a.RetryAfter; wait > 0 || comesBack(a, code) {
		r.header.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	}
	r.delivered = func() { s.Runtime.Delivered(x.Context(), a) }
	return r
}

// comesBack: the table wants a Retry-After, whether the answer names a time or
// not.
func comesBack(a deed.Answer, code int) bool {
	return a.Decision == deed.InProgress || code == http.StatusTooManyRequests ||
		a.Decision == deed.Execute && (a.Effective == deed.StatusExecuting || a.Effective == deed.StatusAwaitingInput)
}

func seconds(d time.Duration) float64 { return math.Ceil(d.Seconds()) }

// problemOf is the problem that says no in these words.
func problemOf(code int, words problems.Words, a deed.Answer, v api.Verdict) *api.Problem {
	if text := deed.Told(a.Text); text != "" {
		words.Detail += " (" + text + ")"
	}
	p := &api.Problem{Type: api.ProblemPage + "#" + words.Kind, Title: words.Title, Status: code, Detail: words.Detail, Verdict: v}
	if op := v.Operation; op != nil {
		p.OperationID, p.OperationStatus = op.OperationID, op.Status
	}
	if a.Decision == deed.Conflict && a.Operation != nil {
		// Two effects meet here: what the other one was is not shown.
		p.ExistingFingerprint, p.ReceivedFingerprint = a.Operation.Fingerprint, a.Received
		if r := a.Operation.Receipt(); r != nil {
			p.ExistingRemoteID = r.RemoteID
		}
		p.Operation, p.Result, p.ResultBytes = nil, nil, nil
	}
	return p
}
