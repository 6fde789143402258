// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"maps"
	"slices"

	"github.com/deed-run/deed"
)

// defaultProfile is that of draft-ietf-httpapi-idempotency-key-header-07.
const defaultProfile = "ietf"

// Profiles lists the names of the dialects in which keys are spoken.
func Profiles() []string { return slices.Sorted(maps.Keys(profiles)) }

// style is how a dialect writes its errors down.
type style int

const (
	styleProblem style = iota // RFC 9457
	styleStripe               // {"error": {"type", "code", "message"}}
	styleFlat                 // {"type", "code", "message"}
	styleErrors               // {"errors": [{"code", "message"}]}
)

// words are how a dialect answers one situation; a status of 0 is that of the
// decision.
type words struct {
	status int
	kind   string
	code   string
}

// profile is one dialect. All that differs between dialects is in this table:
// no code asks for a name.
type profile struct {
	// need is whether a request without a key is refused or journaled.
	need deed.Need
	// strictKeys holds keys to 16 to 255 characters of A-Z a-z 0-9 _ . : -
	// instead of 1 to 255 visible ASCII ones.
	strictKeys bool
	uuidKeys   bool
	// bodyKey is a member of the body that carries the key, left out of the
	// fingerprint and forwarded.
	bodyKey string
	// byPath scopes keys by method and path; the others name one operation of the
	// tenant, so that a key on another path is a conflict.
	byPath bool
	// byActor gives each actor keys of its own; the others share those of the
	// tenant.
	byActor bool
	// forgetsRefusals lets a repeat of a definite refusal be sent, since the
	// dialect stores no errors. What may have been applied is never sent again, in
	// no dialect.
	forgetsRefusals bool
	// markBody puts "replayed": true into the JSON object of a replay.
	markBody bool
	// silent conflicts tell nothing of the other effect.
	silent bool
	style  style

	missing, malformed, conflict, inFlight, unknown, expired, other words
}

var profiles = map[string]*profile{
	"ietf": {need: deed.NeedRequired},
	"stripe": {
		need: deed.NeedOptional, style: styleStripe,
		missing: words{400, "idempotency_error", "idempotency_key_required"}, malformed: words{400, "idempotency_error", "idempotency_key_invalid"},
		conflict: words{400, "idempotency_error", "idempotency_key_reused"}, inFlight: words{409, "invalid_request_error", "idempotency_key_in_use"},
		unknown: words{409, "idempotency_error", "idempotency_state_unknown"}, expired: words{410, "idempotency_error", "idempotency_key_expired"},
		other: words{0, "invalid_request_error", ""},
	},
	"acp": {
		need: deed.NeedRequired, byPath: true, byActor: true, style: styleFlat,
		missing: words{400, "invalid_request", "idempotency_key_required"}, malformed: words{400, "invalid_request", "idempotency_key_invalid"},
		conflict: words{422, "invalid_request", "idempotency_conflict"}, inFlight: words{409, "invalid_request", "idempotency_in_flight"},
		unknown: words{409, "processing_error", "idempotency_state_unknown"}, expired: words{410, "invalid_request", "idempotency_key_expired"},
		other: words{0, "invalid_request", ""},
	},
	"ucp": {
		need: deed.NeedRequired, uuidKeys: true,
		missing: words{400, "", "idempotency_key_required"}, malformed: words{400, "", "idempotency_key_invalid"},
		conflict: words{409, "", "idempotency_conflict"}, inFlight: words{409, "", "idempotency_in_flight"},
		unknown: words{409, "", "idempotency_state_unknown"}, expired: words{410, "", "idempotency_key_expired"},
	},
	"adcp": {
		need: deed.NeedRequired, strictKeys: true, byActor: true, bodyKey: "idempotency_key", style: styleErrors,
		forgetsRefusals: true, markBody: true, silent: true,
		missing: words{400, "", "INVALID_REQUEST"}, malformed: words{400, "", "INVALID_REQUEST"},
		conflict: words{409, "", "IDEMPOTENCY_CONFLICT"}, inFlight: words{409, "", "IDEMPOTENCY_IN_FLIGHT"},
		unknown: words{409, "", "IDEMPOTENCY_STATE_UNKNOWN"}, expired: words{410, "", "IDEMPOTENCY_EXPIRED"},
	},
}

// keyShape says which keys the dialect takes; "" is the usual shape.
func (p *profile) keyShape() string {
	switch {
	case p.uuidKeys:
		return "the form of a UUID"
	case p.strictKeys:
		return ""
	}
	return "1 to 255 visible ASCII characters"
}

// scope says who shares the keys of the dialect.
func (p *profile) scope() deed.KeyScope {
	if p.byActor {
		return deed.ScopeActor
	}
	return deed.ScopeTenant
}

// wordsFor picks the words for an answer.
func (p *profile) wordsFor(a deed.Answer) words {
	switch {
	case a.Reason == deed.ReasonMissingOperationKey:
		return p.missing
	case a.Reason == deed.ReasonBadKey, a.Reason == deed.ReasonKeyCarriersDisagree:
		return p.malformed
	case a.Reason == deed.ReasonKeyReusedAfterWindow, a.Decision == deed.Expired:
		return p.expired
	case a.Decision == deed.Conflict:
		return p.conflict
	case a.Decision == deed.InProgress, a.Decision == deed.Execute && a.Effective == deed.StatusExecuting:
		return p.inFlight
	case a.Decision == deed.Uncertain, a.Decision == deed.Execute && a.Effective == deed.StatusUncertain:
		return p.unknown
	}
	return p.other
}
