// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/deed-run/deed"
)

// attemptsText returns what json.Marshal makes of attempts: the attempts of
// most operations are written without its detours, all others by it.
func attemptsText(attempts []deed.Attempt) ([]byte, error) {
	text := make([]byte, 1, 1+384*len(attempts))
	text[0] = '['
	for i := range attempts {
		a := &attempts[i]
		if !ordinary(a) {
			return json.Marshal(attempts)
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = appendAttempt(text, a)
	}
	return append(text, ']'), nil
}

// ordinary attempts have nothing that appendAttempt leaves out, and no text
// that JSON would have to escape.
func ordinary(a *deed.Attempt) bool {
	if a.Marks != nil || a.Probing != nil || len(a.Bookings) > 0 || !ordinaryTime(a.BegunAt) || !ordinaryTime(a.SendBy) || !ordinaryTime(a.EndedAt) {
		return false
	}
	for _, text := range [...]string{
		a.Nonce, a.Worker, a.UpstreamIdentity, a.LookedUpAt, a.ProviderKey, a.KeyPlace, string(a.Claimant), string(a.Claim), string(a.Outcome), a.TaskID,
	} {
		for i := range len(text) {
			switch c := text[i]; {
			case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
				return false
			}
		}
	}
	return true
}

func ordinaryTime(t time.Time) bool {
	return t.Location() == time.UTC && t.Year() > 0 && t.Year() < 10000
}

func appendAttempt(text []byte, a *deed.Attempt) []byte {
	text = append(text, `{"attempt":`...)
	text = strconv.AppendInt(text, int64(a.Number), 10)
	text = appendMember(text, "nonce", a.Nonce)
	text = appendMember(text, "worker", a.Worker)
	text = appendMember(text, "upstream_identity", a.UpstreamIdentity)
	text = appendGiven(text, "looked_up_at", a.LookedUpAt)
	text = appendTime(text, "begun_at", a.BegunAt)
	text = appendTime(text, "send_by", a.SendBy)
	text = appendGiven(text, "provider_key", a.ProviderKey)
	text = appendGiven(text, "provider_key_place", a.KeyPlace)
	text = appendTrue(text, "new_provider_key", a.NewProviderKey)
	text = appendGiven(text, "claimant", string(a.Claimant))
	text = appendGiven(text, "claim", string(a.Claim))
	if a.Continues != 0 {
		text = strconv.AppendInt(append(text, `,"continues":`...), int64(a.Continues), 10)
	}
	text = appendTrue(text, "cleared", a.Cleared)
	text = appendTrue(text, "proved", a.Proved)
	text = appendGiven(text, "observed_outcome", string(a.Outcome))
	if !a.EndedAt.IsZero() {
		text = appendTime(text, "ended_at", a.EndedAt)
	}
	text = appendGiven(text, "task_id", a.TaskID)
	return append(text, '}')
}

// appendMember adds a text that needs no escapes.
func appendMember(text []byte, name, value string) []byte {
	text = append(append(append(text, `,"`...), name...), `":"`...)
	return append(append(text, value...), '"')
}

func appendGiven(text []byte, name, value string) []byte {
	if value == "" {
		return text
	}
	return appendMember(text, name, value)
}

func appendTrue(text []byte, name string, value bool) []byte {
	if !value {
		return text
	}
	return append(append(append(text, `,"`...), name...), `":true`...)
}

func appendTime(text []byte, name string, t time.Time) []byte {
	text = append(append(append(text, `,"`...), name...), `":"`...)
	return append(t.AppendFormat(text, time.RFC3339Nano), '"')
}
