// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// definite reports whether a status proves that nothing was applied.
func definite(r *Route, status int) bool {
	return status >= 400 && (outcome.HTTP(status, nil).Kind == deed.OutcomeRefused || slices.Contains(r.Refused, status) || slices.Contains(r.Busy, status))
}

// What the gate says of an exchange that failed.
const (
	notHanded = "it could not be handed to the upstream"
	noWhole   = "there was no whole answer"
)

// lost is what became of a request without a whole answer. The transport's own words
// name the upstream's address.
func lost(r reply) error {
	if late, ok := errors.AsType[*deed.LateError](r.err); ok {
		return &deed.Veiled{Told: notHanded + " (" + late.Error() + ")", Err: r.err}
	}
	if r.unsent {
		return &deed.Veiled{Told: notHanded, Err: r.err}
	}
	return &deed.Veiled{Told: noWhole, Err: r.err}
}

// classify reads a reply: by the route's own lists, then by the tables of package
// outcome.
func (a *attempt) classify(r reply) deed.Outcome {
	switch {
	case r.err != nil:
		return outcome.Lost(r.unsent, lost(r).Error())
	case !r.whole:
		return outcome.Lost(false, noWhole)
	}
	out := outcome.HTTP(r.status, r.raw)
	switch {
	case r.status >= 400 && slices.Contains(a.route.Refused, r.status):
		out = deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, Final: true, Message: out.Message}
	case r.status >= 400 && slices.Contains(a.route.Busy, r.status):
		out = deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, RetryAfter: outcome.RetryAfter(r.raw), Message: out.Message}
	}
	switch out.Kind {
	case deed.OutcomeSuccess:
		return a.success(r)
	case deed.OutcomeRefused:
		if a.route.speaks.forgetsRefusals {
			out.Final = false
		}
		out.ResultIsError = true
		if r.digest == "" {
			out.Result = r.encode(a.route.As != "", true)
		}
	}
	return out
}

func (a *attempt) success(r reply) deed.Outcome {
	kind, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	plain := r.header.Get("Content-Encoding") == "" && r.digest == ""
	if plain && isJSON(kind) && len(r.body) > 0 && !json.Valid(r.body) {
		return outcome.Lost(false, fmt.Sprintf("HTTP %d with a body that is not the JSON it claims to be", r.status))
	}
	out := deed.Outcome{Kind: deed.OutcomeSuccess}
	pointers := a.side.outcomes(a.route.tool()).Receipt
	out.Receipt.RemoteSystem = pointers.System
	if out.Receipt.RemoteSystem == "" {
		out.Receipt.RemoteSystem = a.route.tool().Upstream()
	}
	if plain {
		out.Receipt.RemoteID = pick(r.body, pointers.ID)
		out.Receipt.RemoteURL = pick(r.body, pointers.URL)
	}
	if out.Receipt.RemoteURL == "" {
		out.Receipt.RemoteURL = r.header.Get("Location")
	}
	if pointers.Require && out.Receipt.RemoteID == "" {
		return outcome.Lost(false, "the answer does not hold the receipt's id at "+pointers.ID)
	}
	if r.digest != "" {
		out.Receipt.ResultDigest = deed.Digest(r.digest)
		return out
	}
	out.Result = r.encode(a.route.As != "", false)
	if plain && a.route.As == "" {
		out.Stated = r.body
	}
	return out
}

// pick follows a pointer into a body. Rules that are shared with other transports
// point into a tool's result, of which the body is the structured content.
func pick(body []byte, pointer string) string {
	if rest, ok := strings.CutPrefix(pointer, "/structuredContent/"); ok {
		pointer = "/" + rest
	}
	return outcome.Lookup(body, pointer)
}
