// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"net/http"
	"strconv"

	"github.com/deed-run/deed"
)

// meaning is what a status proves of a request that may change something.
type meaning struct {
	kind  deed.OutcomeKind
	final bool
	why   string
}

const (
	firstStatus = 100
	lastStatus  = 599
)

// statuses has a row for every status of RFC 9110 section 15, 100 to 599. A class has its own meaning; the rows named below differ from it.
var statuses = tabulate()

func tabulate() [lastStatus + 1]meaning {
	var table [lastStatus + 1]meaning
	for status := firstStatus; status <= lastStatus; status++ {
		switch status / 100 {
		case 1:
			table[status] = meaning{deed.OutcomeUnknown, false, "no final answer"}
		case 2:
			table[status] = meaning{deed.OutcomeSuccess, false, "accepted"}
		case 3:
			table[status] = meaning{deed.OutcomeUnknown, false, "a redirect is not followed and proves nothing"}
		case 4:
			table[status] = meaning{deed.OutcomeUnknown, false, "servers answer it also after they acted"}
		case 5:
			table[status] = meaning{deed.OutcomeUnknown, false, "the server may have acted before it failed"}
		}
	}
	for status, why := range map[int]string{
		http.StatusBadRequest: "malformed", http.StatusUnauthorized: "not authenticated", http.StatusForbidden: "not permitted",
		http.StatusMethodNotAllowed: "the method is not known there", http.StatusNotAcceptable: "no answer of that kind",
		http.StatusLengthRequired: "without a length", http.StatusRequestEntityTooLarge: "too large", http.StatusRequestURITooLong: "address too long",
		http.StatusUnsupportedMediaType: "body of another kind", http.StatusExpectationFailed: "expectation not met",
		http.StatusUnprocessableEntity: "invalid", http.StatusPreconditionRequired: "without a precondition",
		http.StatusRequestHeaderFieldsTooLarge: "header too large",
	} {
		table[status] = meaning{deed.OutcomeRefused, true, why}
	}
	table[http.StatusTooManyRequests] = meaning{deed.OutcomeRefused, false, "too many requests"}
	return table
}

// Why says in words what a status proves, for people; "" for what is no HTTP status.
func Why(status int) string {
	if status < firstStatus || status > lastStatus {
		return ""
	}
	return statuses[status].why
}

// HTTP classifies a whole HTTP answer where no rule of the tool says otherwise. Redirects are never followed, because Go turns a POST into
// a GET, and prove nothing.
func HTTP(status int, h http.Header) deed.Outcome {
	text := "HTTP " + strconv.Itoa(status)
	if status < firstStatus || status > lastStatus {
		return unknown(text)
	}
	switch m := statuses[status]; m.kind {
	case deed.OutcomeSuccess:
		return deed.Outcome{Kind: deed.OutcomeSuccess}
	case deed.OutcomeRefused:
		out := deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, Final: m.final, Message: text}
		if !m.final {
			out.RetryAfter = RetryAfter(h)
		}
		return out
	}
	return unknown(text)
}
