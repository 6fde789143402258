// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"crypto/subtle"
	"fmt"
	"time"
)

// VerdictKind is what a look-up established.
type VerdictKind string

const (
	// VerdictFound: exactly one object at the provider carries our mark.
	VerdictFound VerdictKind = "found"
	// VerdictAbsent: everything was read and nothing carries our mark. It
	// counts only once the gate of the tool's declared times has opened.
	VerdictAbsent VerdictKind = "absent"
	// VerdictMany: several objects carry our mark.
	VerdictMany VerdictKind = "many"
	// VerdictUndetermined: anything else, errors included.
	VerdictUndetermined VerdictKind = "undetermined"
)

// Verdict is what one look-up came to. It is a claim: the Runtime judges it
// by its matches and by the gate before anything counts.
type Verdict struct {
	Kind VerdictKind
	// Matches are the candidates that the look-up settled on; those that
	// carry another token than ours are evidence only.
	Matches []Match
	// Strategy names how it was looked up; it ends up in the receipt as
	// "reconcile:<strategy>".
	Strategy string
	// Evidence is what was read, in short, as text or JSON; at most 4 KiB of
	// it are kept. It must not hold secrets.
	Evidence string
	// Complete: everything that could hold the effect was read, all pages.
	// A single read by identity is complete.
	Complete bool
}

// Match is one object at the provider.
type Match struct {
	RemoteID string
	URL      string
	// Token is the mark as read from the object: the marker, the client id or
	// the provider key that was planted there. For a tool declared idempotent
	// it may be the operation's fingerprint, when the state that the effect
	// wants is the state that was read.
	Token string
	// Result answers repeats in the place of the lost reply; nil when it
	// cannot be rebuilt.
	Result []byte
	// Items are the outcomes of a batch, when the object tells them.
	Items []Item
}

// judge says what a verdict amounts to, and why where that is less than it
// claims. The match is set when it is found.
func (q Inquest) judge(v Verdict) (kind VerdictKind, match Match, why string) {
	var own []Match
	for _, candidate := range v.Matches {
		if q.carries(candidate.Token) && !known(own, candidate.RemoteID) {
			own = append(own, candidate)
		}
	}
	switch v.Kind {
	case VerdictFound, VerdictMany:
		switch {
		case !v.Complete:
			return VerdictUndetermined, Match{}, "not everything was read, so that it cannot be said how many there are"
		case len(own) == 0:
			return VerdictUndetermined, Match{}, "what was found does not carry the mark of this operation"
		case len(own) > 1:
			return VerdictMany, Match{}, fmt.Sprintf("%d objects carry the mark of this operation", len(own))
		}
		return VerdictFound, own[0], ""
	case VerdictAbsent:
		if q.Marks == (Marks{}) && (q.Rule.Planting != nil || q.Rule.ProviderKey != nil) && !q.byState() {
			return VerdictUndetermined, Match{}, "nothing was planted that could be missing: what is there may be its effect"
		}
		if len(own) > 0 {
			return VerdictUndetermined, Match{}, "the look-up says absent and names an object with the mark of this operation"
		}
		return VerdictAbsent, Match{}, ""
	}
	return VerdictUndetermined, Match{}, "the look-up could not tell"
}

func known(list []Match, id string) bool {
	for _, m := range list {
		if m.RemoteID != "" && m.RemoteID == id {
			return true
		}
	}
	return false
}

// carries reports whether a token read at the provider is one that only this
// operation can have left there.
func (q Inquest) carries(token string) bool {
	if token == "" {
		return false
	}
	for _, own := range []string{q.Marks.Marker, q.Marks.ClientID, q.Marks.ProviderKey} {
		if own != "" && subtle.ConstantTimeCompare([]byte(own), []byte(token)) == 1 {
			return true
		}
	}
	return q.byState() && token == string(q.Operation.Fingerprint)
}

// byState reports whether the effect may be known by the state that it wants.
func (q Inquest) byState() bool {
	return q.Rule.Effect == EffectIdempotent && q.Operation.Effect == EffectIdempotent
}

// absence is everything that decides whether a miss may count.
type absence struct {
	maxProcessing time.Duration
	readLag       time.Duration
	begunAt       time.Time
	// sendBy is that of the latest attempt that may have been applied.
	sendBy time.Time
	// lookedAt is the ledger's time when the look-up began.
	lookedAt time.Time
	// watched is for how long the observer has known of the attempt, by its
	// own monotonic clock, when the look-up began.
	watched  time.Duration
	complete bool
	// misses and lastMiss are of earlier look-ups that passed the gate.
	misses   int
	lastMiss time.Time
}

// opensAt is when the provider can no longer be working on the request and
// the read used must show what it did.
func (a absence) opensAt() time.Time { return a.sendBy.Add(a.maxProcessing).Add(a.readLag) }

// spacing is the least time between two misses that count: as long as the
// read may lag behind, so that the second is another look.
func (a absence) spacing() time.Duration { return max(a.readLag, leastSpacing) }

const leastSpacing = time.Second

// passes reports whether this miss is one that counts, and why not.
func (a absence) passes() (bool, string) {
	needs := a.sendBy.Sub(a.begunAt) + a.maxProcessing + a.readLag
	switch {
	case a.maxProcessing <= 0:
		return false, "how long the provider may work on a request is not declared (max_processing), so that absence never counts"
	case !a.complete:
		return false, "not everything was read"
	case a.lookedAt.Before(a.opensAt()):
		return false, "it may still be under way, or not visible yet, until " + a.opensAt().UTC().Format(time.RFC3339)
	case a.watched < needs:
		return false, fmt.Sprintf("this process has watched it for %s of the %s that must pass by its own clock", a.watched.Round(time.Second), needs)
	case a.misses > 0 && a.lookedAt.Before(a.lastMiss.Add(a.spacing())):
		return false, "the last look was less than " + a.spacing().String() + " ago"
	}
	return true, ""
}

// permits reports whether absence may count now: this miss passes the gate
// and an earlier one did.
func (a absence) permits() (bool, string) {
	if passes, why := a.passes(); !passes {
		return false, why
	}
	if a.misses < 1 {
		return false, "one look is not enough"
	}
	return true, ""
}
