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
)

// problemPage documents the problem types, which are its fragments.
const problemPage = "https://github.com/deed-run/deed/blob/main/docs/problems.md"

// The titles of draft-ietf-httpapi-idempotency-key-header-07 section 2.7.
const (
	titleMissing     = "Idempotency-Key is missing"
	titleUsed        = "Idempotency-Key is already used"
	titleOutstanding = "A request is outstanding for this Idempotency-Key"
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
		"type": problemPage + "#" + kind, "title": title, "status": status, "detail": detail,
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
	p := problem(http.StatusBadRequest, "malformed-request", "The request cannot be understood", detail)
	p.doc["decision"], p.doc["reason"] = deed.Denied, deed.ReasonBadArguments
	return p
}

func tooLong(err error) refused {
	p := problem(http.StatusRequestEntityTooLarge, "body-too-large", "The body is too long", err.Error()+"; nothing was claimed and nothing was sent")
	p.doc["decision"], p.doc["reason"] = deed.Denied, deed.ReasonBadArguments
	return p
}

// unauthenticated asks for a bearer token (RFC 6750 section 3).
func unauthenticated(r *http.Request) refused {
	p := problem(http.StatusUnauthorized, "unauthenticated", "Nobody known asks", "nothing was sent; send a valid bearer token")
	p.doc["decision"], p.doc["reason"] = deed.Denied, deed.ReasonUnauthenticated
	challenge := `Bearer realm="deed"`
	if r.Header.Get("Authorization") != "" {
		challenge += `, error="invalid_token"`
	}
	p.header.Set("WWW-Authenticate", challenge)
	return p
}

// gone answers whoever hung up before there was an answer, and a gateway that is
// closing: nobody may be listening. The ledger has nothing to do with it.
func gone(err error) refused {
	why := "the caller left, or there was none in time"
	if errors.Is(err, deed.ErrClosed) {
		why = "this gateway is closing"
	}
	p := problem(http.StatusServiceUnavailable, "no-answer", "There is no answer", why+"; nothing was sent by this request; ask again, under the same key")
	p.header.Set("Retry-After", "1")
	return p
}

// refusal says no, or not yet, in the words of the route's profile.
func (s *side) refusal(route *Route, a deed.Answer) refused {
	status := statusOf(a)
	spoken := route.speaks.wordsFor(a)
	if spoken.status != 0 {
		status = spoken.status
	}
	kind, title, detail := wordsOf(status, a)
	if text := told(a); text != "" {
		detail += " (" + text + ")"
	}
	p := problem(status, kind, title, detail)
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

// wordsOf says what is established and what to do next.
func wordsOf(status int, a deed.Answer) (kind, title, detail string) {
	kind = strings.ReplaceAll(string(a.Decision), "_", "-")
	switch a.Decision {
	case deed.Conflict:
		return kind, titleUsed, "nothing was sent; this key names another effect: send what it named, or name the new action anew"
	case deed.InProgress:
		return kind, titleOutstanding, "nothing was sent twice; ask again later, under the same key"
	case deed.AwaitingApproval:
		return kind, "A person must approve it", "nothing was sent yet; keep the key and ask again later"
	case deed.Uncertain:
		return "outcome-uncertain", "The outcome is not known", "it may have happened; nothing was sent by this request; do not repeat it under another key: look the effect up and resolve the operation"
	case deed.Failed:
		switch status {
		case http.StatusBadGateway:
			return "not-sent", "It could not be sent", "it was not applied: nothing of it left, and nothing was sent by this request; ask again later, under the same key"
		case http.StatusServiceUnavailable:
			return kind, "It failed, and may be repeated later", "it was not applied; nothing was sent by this request; ask again later, under the same key"
		}
		return kind, "It failed", "it was not applied; nothing was sent by this request"
	case deed.Expired:
		return kind, "It is too late", "it never ran, and may not run under this key any more"
	case deed.Denied:
		return deniedWords(kind, a.Reason)
	}
	switch {
	case a.Operation == nil:
		return "not-sent", "The upstream did not answer", "nothing is recorded of this request"
	case status == http.StatusBadGateway:
		return "not-sent", "It could not be sent", "it was not applied: nothing of it left; ask again later, under the same key"
	case status == http.StatusUnprocessableEntity:
		return "failed", "It was refused", "it was sent, and definitely refused"
	}
	return "outcome-uncertain", "The outcome is not known", "it was sent and may have happened; do not repeat it under another key: look the effect up and resolve the operation"
}

func deniedWords(kind string, reason deed.Reason) (string, string, string) {
	switch reason {
	case deed.ReasonMissingOperationKey:
		return kind, titleMissing, "nothing was sent; name the action, and keep the name for its repeats"
	case deed.ReasonBadKey:
		return kind, "Idempotency-Key has the wrong shape", "nothing was sent"
	case deed.ReasonKeyCarriersDisagree:
		return kind, "The request carries two different keys", "nothing was sent; it must carry one"
	case deed.ReasonBadArguments:
		return kind, "The request was refused", "nothing was sent, and the key stays free"
	case deed.ReasonStoreUnavailable:
		return "ledger-unavailable", "The ledger cannot be reached", "nothing was sent by this request; ask again later, under the same key"
	case deed.ReasonPolicyOutdated:
		return kind, "This gateway has older rules than another one", "nothing was sent by this request; whoever runs this gateway must restart it with the newer configuration file; ask again later, under the same key"
	case deed.ReasonLoop, deed.ReasonRate:
		return kind, "Too many requests", "nothing was sent; come back later"
	}
	return kind, "It was denied", "nothing was sent by this request: " + strings.ReplaceAll(string(reason), "_", " ")
}
