// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deed-run/deed"
)

// doubt is what there is to know about an operation of which nobody knows
// whether it happened.
type doubt struct {
	Since      time.Time `json:"since"`
	AgeSeconds int64     `json:"age_seconds"`
	// Attempt is the latest that was sent, between SentAt and SendBy; Sent is what
	// it carried, where it may be seen.
	Attempt  int             `json:"attempt"`
	SentAt   time.Time       `json:"sent_at,omitzero"`
	SendBy   time.Time       `json:"send_by,omitzero"`
	Sent     json.RawMessage `json:"sent,omitempty"`
	LookedUp *latestLook     `json:"looked_up,omitempty"`
}

// latestLook is the latest look-up.
type latestLook struct {
	By     string           `json:"by"`
	Answer deed.VerdictKind `json:"answer"`
	At     time.Time        `json:"at"`
	Tries  int              `json:"tries"`
	NextAt time.Time        `json:"next_at,omitzero"`
	// GaveUpAt: no look-up follows, a person must decide.
	GaveUpAt time.Time `json:"gave_up_at,omitzero"`
}

// doubtOf is nil where nothing is in doubt.
func doubtOf(op *deed.Operation, now time.Time) *doubt {
	since := doubtSince(op, now)
	if since.IsZero() {
		return nil
	}
	d := &doubt{Since: since, AgeSeconds: int64(max(0, now.Sub(since)).Seconds()), Attempt: op.AttemptNumber(), Sent: raw(op.Arguments)}
	current := op.Current()
	if current == nil {
		return d
	}
	d.SentAt, d.SendBy = current.BegunAt, current.SendBy
	if p := current.Probing; p != nil && !p.LastAt.IsZero() {
		d.LookedUp = &latestLook{By: p.Strategy, Answer: p.Last, At: p.LastAt, Tries: p.Tries, NextAt: p.NextAt, GaveUpAt: p.GaveUpAt}
	}
	return d
}

// withSent reads what the operations of a listing that are uncertain, or wait for a
// person, carry, which
// listings leave out. One that cannot be read is listed without.
func withSent(ctx context.Context, get func(context.Context, deed.OperationID) (*deed.Operation, error), list []*deed.Operation, now time.Time) []*deed.Operation {
	whole := make([]*deed.Operation, len(list))
	for i, op := range list {
		whole[i] = op
		if doubtSince(op, now).IsZero() && op.EffectiveStatus(now) != deed.StatusAwaitingApproval {
			continue
		}
		if read, err := get(ctx, op.ID); err == nil {
			whole[i] = read
		}
	}
	return whole
}

// mostSent is how much of what was sent a row shows.
const mostSent = 48

// text says what was sent, and when, in a few words.
func (d *doubt) text(now time.Time) string {
	if d.Attempt == 0 {
		return "-"
	}
	text := fmt.Sprintf("attempt %d, %s", d.Attempt, age(d.SentAt, now))
	if d.Sent == nil {
		return text
	}
	sent := []rune(essence(d.Sent))
	if len(sent) > mostSent {
		sent = append(sent[:mostSent:mostSent], '…')
	}
	return text + ": " + string(sent)
}

// essence is the body of a request of an HTTP route, which says more than its
// envelope; other arguments are themselves.
func essence(arguments json.RawMessage) string {
	var request struct {
		Method string          `json:"method"`
		Target string          `json:"target"`
		Form   json.RawMessage `json:"form"`
		Raw    []byte          `json:"raw"`
		Body   json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(arguments, &request); err != nil || request.Method == "" || request.Target == "" {
		return string(arguments)
	}
	switch {
	case request.Body != nil:
		return string(request.Body)
	case request.Form != nil && request.Raw != nil:
		return string(request.Raw)
	}
	return string(arguments)
}

// text says what the provider was last asked, in a few words.
func (l *latestLook) text(now time.Time) string {
	if l == nil {
		return "-"
	}
	text := string(l.Answer) + " by " + l.By + " " + age(l.At, now)
	if !l.GaveUpAt.IsZero() {
		text += ", given up"
	}
	return text
}
