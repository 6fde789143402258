// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/deed-run/deed"
)

// What observe mode sent is no replay, and an operation beside which it was sent is
// not proved to have happened at most once.
func TestWhatObserveModeSentIsNoProofOfAReplay(t *testing.T) {
	applied := &deed.Operation{ID: "op_1", Status: deed.StatusCommitted, Attempts: []deed.Attempt{{Number: 1, Proved: true}}}
	waits := &deed.Operation{ID: "op_1", Status: deed.StatusAwaitingApproval}
	observed := func(data string) deed.Event { return deed.Event{Name: deed.EventObserved, Data: []byte(data)} }
	decided := func(d deed.Decision, data string) deed.Event {
		return deed.Event{Name: deed.EventName(d), Data: []byte(data)}
	}
	instead := decided(deed.Replay, `{"would_be":"replay"}`)
	instead.Attempt = 1
	for name, c := range map[string]struct {
		op                         *deed.Operation
		events                     []deed.Event
		replays, refused, observed int
		atMostOnce                 bool
		proves                     string
	}{
		"a replay":         {applied, []deed.Event{decided(deed.Replay, "")}, 1, 0, 0, true, "one of them was applied"},
		"one that was not": {applied, []deed.Event{decided(deed.Replay, `{"would_be":"replay"}`)}, 0, 0, 1, false, "1 call of it sent in observe mode"},
		"beside a proposal": {waits, []deed.Event{
			decided(deed.AwaitingApproval, `{"would_be":"awaiting_approval"}`), observed(`{"call":"a"}`), observed(`{"call":"a","outcome":"success"}`),
		}, 0, 0, 1, true, "1 call of it sent in observe mode"},
		"twice beside a proposal":      {waits, []deed.Event{observed(`{"call":"a"}`), observed(`{"call":"b"}`)}, 0, 0, 2, false, "2 calls of it"},
		"what was refused":             {waits, []deed.Event{observed(`{"call":"a"}`), observed(`{"call":"a","outcome":"refused"}`)}, 0, 0, 0, true, "nothing was sent through this ledger"},
		"what it was begun instead of": {applied, []deed.Event{instead}, 0, 0, 0, true, "one of them was applied"},
		"another action":               {waits, []deed.Event{observed(`{"call":"a","other_key":true}`)}, 0, 0, 0, true, "nothing was sent through this ledger"},
	} {
		t.Run(name, func(t *testing.T) {
			p := proofOf(c.op, c.events)
			if p.Replays != c.replays || p.Refused != c.refused || p.Observed != c.observed || p.AtMostOnce != c.atMostOnce {
				t.Errorf("%d replays, %d refused, %d observed, at most once %t", p.Replays, p.Refused, p.Observed, p.AtMostOnce)
			}
			text := strings.Join(p.Proves, "\n")
			if !strings.Contains(text, c.proves) || c.observed > 0 && strings.Contains(text, "nothing was sent") {
				t.Errorf("it says\n%s", text)
			}
		})
	}
}
