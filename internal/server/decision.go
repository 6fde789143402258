// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
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
		r = answer(code, problemOf(code, a, v))
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

// problemOf is the problem that says no.
func problemOf(code int, a deed.Answer, v api.Verdict) *api.Problem {
	kind, title, detail := wordsOf(code, a)
	if text := deed.Told(a.Text); text != "" {
		detail += " (" + text + ")"
	}
	p := &api.Problem{Type: api.ProblemPage + "#" + kind, Title: title, Status: code, Detail: detail, Verdict: v}
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

// The titles of draft-ietf-httpapi-idempotency-key-header-07 section 2.7.
const (
	titleMissing     = "Idempotency-Key is missing"
	titleUsed        = "Idempotency-Key is already used"
	titleOutstanding = "A request is outstanding for this Idempotency-Key"
)

// wordsOf says what is established and what to do next.
func wordsOf(code int, a deed.Answer) (kind, title, detail string) {
	kind = strings.ReplaceAll(string(a.Decision), "_", "-")
	switch a.Decision {
	case deed.Conflict:
		if a.Reason == deed.ReasonInputDiffers {
			return kind, "The question was answered otherwise", "nothing was sent; the first answer to a question of the tool counts"
		}
		return kind, titleUsed, "nothing was sent; this key names another effect: send what it named, or name the new action anew"
	case deed.InProgress:
		if a.Reason == deed.ReasonAwaitingInput {
			return kind, "The tool asked a question", "nothing was sent by this request; the operation waits for the answer to the question in result"
		}
		return kind, titleOutstanding, "nothing was sent by this request; ask again later, under the same key"
	case deed.Uncertain:
		return api.TypeUncertain, "The outcome is not known", "it may have happened; nothing was sent by this request; do not repeat it under another key: look the effect up and resolve the operation"
	case deed.Failed:
		return kind, "It failed", "it was not applied; nothing was sent by this request"
	case deed.Expired:
		return kind, "It is too late", "it never ran, and may not run under this key any more"
	case deed.Denied:
		return deniedWords(kind, a.Reason)
	}
	switch {
	case a.Operation == nil && code == http.StatusBadGateway:
		return api.TypeNotSent, "The tool did not answer", "nothing is recorded of a tool that only reads; it can be called again"
	case code == http.StatusBadGateway:
		return api.TypeNotSent, "It could not be sent", "it was not applied: nothing of it left; ask again later, under the same key"
	case code == http.StatusUnprocessableEntity:
		return "failed", "It was refused", "it was sent, and definitely refused"
	case a.Effective == deed.StatusAwaitingInput:
		return "in-progress", "The tool asked a question", "the operation waits for the answer to the question in result"
	case a.Effective == deed.StatusExecuting:
		return "in-progress", "It goes on", "it was sent and has not ended yet; ask again later, under the same key"
	}
	return api.TypeUncertain, "The outcome is not known", "it was sent and may have happened; do not repeat it under another key: look the effect up and resolve the operation"
}

func deniedWords(kind string, reason deed.Reason) (string, string, string) {
	switch reason {
	case deed.ReasonMissingOperationKey:
		return kind, titleMissing, "nothing was sent; name the action, and keep the name for its repeats"
	case deed.ReasonBadKey:
		return kind, "Idempotency-Key has the wrong shape", "nothing was sent; a key has 16 to 255 characters of A-Z a-z 0-9 _ . : -"
	case deed.ReasonKeyCarriersDisagree:
		return kind, "The request carries two different keys", "nothing was sent; it must carry one"
	case deed.ReasonBadArguments:
		return kind, "The arguments were refused", "nothing was sent, and the key stays free"
	case deed.ReasonStoreUnavailable:
		return api.TypeUnavailable, "The ledger cannot be reached", "nothing was sent by this request; ask again later, under the same key"
	case deed.ReasonPolicyOutdated:
		return kind, "This gateway has older rules than another one", "nothing was sent by this request; whoever runs this gateway must restart it with the newer configuration file; ask again later, under the same key"
	case deed.ReasonLoop, deed.ReasonRate:
		return kind, "Too many calls", "nothing was sent; come back later"
	}
	return kind, "It was denied", "nothing was sent by this request: " + strings.ReplaceAll(string(reason), "_", " ")
}
