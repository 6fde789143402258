// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/canon"
)

// Headers of answers.
const (
	headerReplayed    = "Idempotent-Replayed"
	headerOperation   = "Deed-Operation"
	headerStatus      = "Deed-Status"
	headerDecision    = "Deed-Decision"
	headerReason      = "Deed-Reason"
	headerCommittedAt = "Deed-Committed-At"
	headerSimilarTo   = "Deed-Similar-To"
	headerWouldBe     = "Deed-Would-Be"
)

// note says in headers what the ledger says of an answer.
func note(h http.Header, a deed.Answer) {
	set := func(name, text string) {
		if text != "" {
			h.Set(name, text)
		}
	}
	set(headerDecision, string(a.Decision))
	set(headerReason, string(a.Reason))
	set(headerSimilarTo, string(a.SimilarTo))
	set(headerWouldBe, string(a.WouldBe))
	if op := a.Operation; op != nil {
		set(headerOperation, string(op.ID))
		set(headerStatus, string(a.Effective))
		if r := op.Receipt(); r != nil {
			set(headerCommittedAt, r.CommittedAt.UTC().Format(time.RFC3339Nano))
		}
	}
	if a.Replayed() || a.Decision == deed.Failed && len(a.Result) > 0 {
		h.Set(headerReplayed, "true")
	}
	if a.RetryAfter > 0 || comesBack(a) {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(a.RetryAfter.Seconds())))))
	}
}

// comesBack: the answer names a time to come back, whether the ledger does or not.
func comesBack(a deed.Answer) bool {
	switch {
	case a.Decision == deed.InProgress, a.Decision == deed.Execute && a.Effective == deed.StatusExecuting:
		return true
	}
	return deed.HTTPStatus(a.Decision, a.Reason) == http.StatusTooManyRequests || a.Reason == deed.ReasonStoreUnavailable
}

// answered writes an answer for which nothing was sent by this request.
func (s *side) answered(w http.ResponseWriter, r *http.Request, route *Route, a deed.Answer) {
	defer s.writing(w)()
	if a.Decision == deed.Replay || a.Decision == deed.Failed && len(a.Result) > 0 {
		if kept, ok := decode(a.Result); ok {
			note(w.Header(), a)
			if a.Decision == deed.Replay && route.speaks.markBody {
				kept.body = marked(kept.body)
			}
			if kept.write(w) == nil {
				s.delivered(r, a)
			}
			return
		}
	}
	if a.Decision == deed.Replay {
		if s.receiptOnly(w, a) == nil {
			s.delivered(r, a)
		}
		return
	}
	if s.refusal(r, route, a).write(w, r) == nil {
		s.delivered(r, a)
	}
}

// writing bounds a write in time. The bound is of that write: the connection serves
// other requests after it.
func (s *side) writing(w http.ResponseWriter) (done func()) {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(s.writeWithin))
	return func() { _ = control.SetWriteDeadline(time.Time{}) }
}

// receiptOnly answers a replay of which only the receipt is kept.
func (s *side) receiptOnly(w http.ResponseWriter, a deed.Answer) error {
	note(w.Header(), a)
	doc := map[string]any{"replayed": true, "reason": a.Reason, "detail": "already done; only the receipt is kept, and nothing was sent by this request"}
	if op := a.Operation; op != nil {
		doc["operation_id"] = op.ID
		doc["receipt"] = op.Receipt()
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return stored{http.StatusOK, http.Header{"Content-Type": {typeJSON}}, body}.write(w)
}

// marked puts "replayed": true into a JSON object.
func marked(body []byte) []byte {
	rest, _, _, err := canon.Without(body, "replayed")
	if err != nil {
		return body
	}
	o := object{}
	o.any("replayed", true)
	return o.before(bytes.TrimSpace(rest))
}

// finished writes the outcome of this request's own attempt.
func (s *side) finished(w http.ResponseWriter, r *http.Request, route *Route, e ended) {
	a := e.answer
	if a.Operation == nil && a.Effective == "" && !e.reply.whole {
		defer s.writing(w)()
		status, says := unanswered(true, e.reply.unsent)
		_ = s.worded(route, a, status, says).write(w, r)
		return
	}
	own := a.Effective == deed.StatusCommitted || a.Effective == deed.StatusFailed || a.Operation == nil && a.Effective == "" ||
		a.Rule.Mode == deed.ModeObserve
	if !own || e.reply.status == 0 || !e.reply.whole || e.reply.passed {
		s.answered(w, r, route, a)
		return
	}
	defer s.writing(w)()
	note(w.Header(), a)
	fresh := e.reply.stored
	fresh.header = s.fresh(e.reply.raw)
	if fresh.write(w) == nil {
		s.delivered(r, a)
	}
}

// fresh is the header for the caller that waited for the answer.
func (s *side) fresh(raw http.Header) http.Header {
	h := raw.Clone()
	if !s.cookies {
		h.Del("Set-Cookie")
	}
	for name := range h {
		if len(name) > 5 && name[:5] == "Deed-" || name == headerReplayed {
			delete(h, name)
		}
	}
	h.Del("Content-Length")
	return h
}

// stream hands a long answer over as it comes. Its last byte leaves when the
// receipt is durable; whatever else ends it cuts the connection, so that the caller
// cannot take the answer for whole.
func (s *side) stream(w http.ResponseWriter, r *http.Request, a *attempt, l *long) {
	for name, values := range s.fresh(l.header) {
		w.Header()[name] = slices.Clone(values)
	}
	begun := a.grant.Answer()
	begun.Effective = "" // not yet known
	note(w.Header(), begun)
	w.WriteHeader(l.status)
	give := func(part []byte) bool {
		defer s.writing(w)()
		if _, err := w.Write(part); err != nil {
			return false
		}
		return flush(w) == nil
	}
	if flush(w) != nil {
		panic(http.ErrAbortHandler)
	}
	parts := l.parts
	for {
		select {
		case part, more := <-parts:
			if !more {
				parts = nil
				continue
			}
			if !give(part) {
				panic(http.ErrAbortHandler)
			}
		case e := <-a.ended:
			done := e.answer.Effective == deed.StatusCommitted || e.answer.Effective == deed.StatusFailed || looksOn(a.grant)
			if !done || !e.reply.whole || !e.reply.passed {
				panic(http.ErrAbortHandler)
			}
			if !give(e.reply.last) {
				panic(http.ErrAbortHandler)
			}
			s.delivered(r, e.answer)
			return
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}
