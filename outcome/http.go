// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"net/http"
	"strconv"
	"time"

	"github.com/deed-run/deed"
)

// notSentRetry is when an attempt that never left may be repeated.
const notSentRetry = time.Second

// Lost classifies a dispatch without a whole answer. unsent says that it is proved that no byte left: DNS, connect and TLS failures, a
// refused stream, a write of zero bytes. Everything else may have happened.
func Lost(unsent bool, text string) deed.Outcome {
	if unsent {
		return deed.Outcome{Kind: deed.OutcomeUnsent, Reason: deed.ReasonNotSent, RetryAfter: notSentRetry, Message: text}
	}
	return unknown(text)
}

// HTTPAnswer is a whole HTTP answer that is no JSON-RPC.
type HTTPAnswer struct {
	Status int
	Header http.Header
	Body   []byte
}

// HTTP classifies such an answer by the tool's rules with a status, and by [HTTP] where none matches.
func (r Rules) HTTP(answer HTTPAnswer) deed.Outcome {
	s := seen{text: string(answer.Body), status: answer.Status, header: answer.Header}
	for _, f := range r.Failed {
		if f.Status != 0 && f.matches(s) {
			out := f.refusal(s)
			out.Message = "HTTP " + strconv.Itoa(answer.Status)
			return out
		}
	}
	return HTTP(answer.Status, answer.Header)
}

// RetryAfter reads the header in its seconds form (RFC 9110 section 10.2.3), 0 without one; a date, which needs a clock, counts as absent.
func RetryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > 86400 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
