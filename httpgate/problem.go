// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/problems"
)

// refused is an answer of this gateway's own.
type refused struct {
	status int
	header http.Header
	kind   string // media type
	doc    map[string]any
}

func problem(status int, kind, title, detail string) refused {
	return refused{status, http.Header{}, "application/problem+json", map[string]any{
		"type": problems.Page + "#" + kind, "title": title, "status": status, "detail": detail,
	}}
}

func (p refused) write(w http.ResponseWriter, r *http.Request) error {
	if p.kind == "application/problem+json" {
		p.doc["instance"] = r.URL.EscapedPath()
	}
	body, err := json.Marshal(p.doc)
	if err != nil {
		return err
	}
	header := maps.Clone(p.header)
	header.Set("Content-Type", p.kind)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	return stored{p.status, header, append(body, '\n')}.write(w)
}

// malformed is denied(bad_arguments) of a request that means nothing.
func malformed(detail string) refused {
	p := problem(http.StatusBadRequest, problems.Malformed, "The request cannot be understood", detail)
	p.doc["decision"], p.doc["reason"] = deed.Denied, deed.ReasonBadArguments
	return p
}

func tooLong(err error) refused {
	p := problem(http.StatusRequestEntityTooLarge, problems.TooLarge, "The body is too long", err.Error()+"; nothing was claimed and nothing was sent")
	p.doc["decision"], p.doc["reason"] = deed.Denied, deed.ReasonBadArguments
	return p
}

// unauthenticated asks for a bearer token (RFC 6750 section 3).
func unauthenticated(r *http.Request) refused {
	p := problem(http.StatusUnauthorized, problems.Unauthenticated, problems.UnknownTitle, "nothing was sent; "+problems.SendToken)
	p.doc["decision"], p.doc["reason"] = deed.Denied, deed.ReasonUnauthenticated
	p.header.Set("WWW-Authenticate", problems.Challenge(r))
	return p
}

// gone answers whoever hung up before there was an answer, and a gateway that is
// closing: nobody may be listening. The ledger has nothing to do with it.
func gone(err error) refused {
	why := "the caller left, or there was none in time"
	if errors.Is(err, deed.ErrClosed) {
		why = "this gateway is closing"
	}
	p := problem(http.StatusServiceUnavailable, problems.NoAnswer, "There is no answer", why+"; nothing was sent by this request; ask again, under the same key")
	p.header.Set("Retry-After", "1")
	return p
}

// refusal says no, or not yet, in the words of the route's profile.
func (s *side) refusal(r *http.Request, route *Route, a deed.Answer) refused {
	status := statusOf(a)
	if spoken := route.speaks.wordsFor(a); spoken.status != 0 {
		status = spoken.status
	}
	words := problems.Of(status, a, route.speaks.keyShape())
	if len(a.Rule.Key.From) > 0 && !namesOperation(r.Header) {
		words = words.Keyless()
	}
	return s.worded(route, a, status, words)
}

// unanswered tells of a request of which nothing is recorded and that got no answer.
// It is no 502 where it may have happened: clients repeat those by themselves.
func unanswered(changes, unsent bool) (status int, says problems.Words) {
	switch {
	case unsent:
		return http.StatusBadGateway, problems.Unsent()
	case changes:
		return http.StatusConflict, problems.Unanswered(true)
	}
	return http.StatusBadGateway, problems.Unanswered(false)
}

// worded is an answer in the style of the route's profile.
func (s *side) worded(route *Route, a deed.Answer, status int, says problems.Words) refused {
	spoken := route.speaks.wordsFor(a)
	if text := told(a); text != "" {
		says.Detail += " (" + text + ")"
	}
	p := problem(status, says.Kind, says.Title, says.Detail)
	note(p.header, a)
	if status == http.StatusAccepted && a.Operation != nil {
		p.header.Set("Location", s.location+string(a.Operation.ID))
	}
	if !route.speaks.silent || a.Decision != deed.Conflict {
		extend(p.doc, a)
	} else {
		p.header.Del(headerOperation)
		p.header.Del(headerStatus)
		p.header.Del(headerCommittedAt)
		p.doc["decision"], p.doc["reason"] = a.Decision, a.Reason
	}
	code := spoken.code
	if code == "" {
		code = string(a.Reason)
	}
	return speak(route.speaks.style, p, spoken.kind, code, a)
}

// told is what a caller may read of an answer's text. What a rule, a person or the
// upstream's answer said is for callers; of an exchange that failed, what is not
// veiled.
func told(a deed.Answer) string {
	if a.Reason == deed.ReasonStoreUnavailable {
		return ""
	}
	// The first two are in records of version 0.1.0; the third is the Runtime's, with
	// what the ledger said.
	for _, own := range []string{notHanded, noWhole, notRecorded} {
		if strings.HasPrefix(a.Text, own+": ") {
			return own
		}
	}
	return deed.Told(a.Text)
}

// notRecorded is told when the ledger failed after the request was sent.
const notRecorded = "the outcome could not be recorded yet"

// extend adds what the ledger knows: the members of RFC 9457 section 3.2.
func extend(doc map[string]any, a deed.Answer) {
	doc["decision"], doc["reason"] = a.Decision, a.Reason
	if a.RetryAfter > 0 {
		doc["retry_after"] = math.Ceil(a.RetryAfter.Seconds())
	}
	if a.SimilarTo != "" {
		doc["similar_to"] = a.SimilarTo
	}
	if a.Twin != "" {
		doc["twin"] = a.Twin
	}
	if a.Operation == nil {
		return
	}
	doc["operation_id"], doc["operation_status"] = a.Operation.ID, a.Effective
	if a.Decision == deed.Conflict {
		doc["existing_fingerprint"], doc["received_fingerprint"] = a.Operation.Fingerprint, a.Received
		if r := a.Operation.Receipt(); r != nil && r.RemoteID != "" {
			doc["existing_remote_id"] = r.RemoteID
		}
	}
}

// speak puts a problem into the shape of a dialect; what it has no member for goes
// into a member "deed".
func speak(form style, p refused, kind, code string, a deed.Answer) refused {
	message := p.doc["title"].(string) + ": " + p.doc["detail"].(string)
	about := map[string]any{}
	for name, v := range p.doc {
		if name != "title" && name != "detail" && name != "status" {
			about[name] = v
		}
	}
	switch form {
	case styleStripe:
		p.kind, p.doc = typeJSON, map[string]any{"error": map[string]any{"type": kind, "code": code, "message": message}, "deed": about}
	case styleFlat:
		p.kind, p.doc = typeJSON, map[string]any{"type": kind, "code": code, "message": message, "deed": about}
	case styleErrors:
		one := map[string]any{"code": code, "message": message}
		if a.RetryAfter > 0 || comesBack(a) {
			one["retry_after"] = max(1, math.Ceil(a.RetryAfter.Seconds()))
		}
		p.kind, p.doc = typeJSON, map[string]any{"errors": []any{one}, "deed": about}
	default:
		if code != string(a.Reason) {
			p.doc["code"] = code
		}
	}
	return p
}

// statusOf is the status code of an answer: docs/tables.md section 6. A failure
// that may be repeated under the same key keeps a code that clients repeat, as its
// first answer had: they take 422 for final.
func statusOf(a deed.Answer) int {
	if a.Decision == deed.Failed && a.Operation != nil && a.Operation.Retryable {
		switch {
		case a.Operation.Reason == deed.ReasonNotSent:
			return http.StatusBadGateway
		case a.Reason == deed.ReasonRetryLater:
			return http.StatusServiceUnavailable
		}
	}
	if a.Decision != deed.Execute {
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
	switch {
	case a.Reason == deed.ReasonNotSent, a.Operation == nil:
		return http.StatusBadGateway
	case a.Effective == deed.StatusFailed, a.Effective == deed.StatusCancelled:
		return http.StatusUnprocessableEntity
	}
	return http.StatusConflict
}
