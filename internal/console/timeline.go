// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// moment is one line of a timeline: an event, or a run of equal ones.
type moment struct {
	At      time.Time
	Words   string
	Kind    string
	Actor   deed.Actor
	Attempt int
	From    deed.Status
	To      deed.Status
	Reason  deed.Reason
	Message string
	Detail  string
	// Times is how often it happened in a row, Last when the last time.
	Times int
	Last  time.Time
}

// shownMoments is the longest timeline of a page; the newest are shown.
const shownMoments = 200

// timelineOf tells a history in words. Decisions that repeat are one line.
func timelineOf(events []deed.Event) (list []moment, left int) {
	for _, e := range events {
		m := momentOfEvent(e)
		if n := len(list); n > 0 && e.From == e.To && same(list[n-1], m) {
			list[n-1].Times++
			list[n-1].Last = e.At
			continue
		}
		list = append(list, m)
	}
	if left = len(list) - shownMoments; left > 0 {
		return list[left:], left
	}
	return list, 0
}

func same(a, b moment) bool {
	return a.Words == b.Words && a.Actor == b.Actor && a.Reason == b.Reason && a.Message == b.Message && a.Detail == b.Detail && a.Attempt == b.Attempt
}

func momentOfEvent(e deed.Event) moment {
	m := moment{At: e.At, Actor: e.Actor, Attempt: e.Attempt, From: e.From, To: e.To, Reason: e.Reason, Times: 1, Last: e.At}
	m.Words, m.Kind = eventWords(e)
	var data map[string]json.RawMessage
	if json.Unmarshal(e.Data, &data) == nil {
		if raw, ok := data["message"]; ok && json.Unmarshal(raw, &m.Message) == nil {
			delete(data, "message")
		}
		if len(data) > 0 {
			rest, _ := json.Marshal(data)
			m.Detail = string(rest)
		}
	}
	if len(m.Message) > 2000 {
		m.Message = m.Message[:2000] + "…"
	}
	return m
}

// eventWords says an event in words, and of which kind it is for the eye:
// good, bad, doubt, person, answer or step.
func eventWords(e deed.Event) (words, kind string) {
	switch e.Name {
	case deed.EventProposed:
		if e.To == deed.StatusAwaitingApproval {
			return "Proposed: frozen, and waits for a person", "step"
		}
		return "Proposed and permitted", "step"
	case deed.EventBegun:
		return fmt.Sprintf("Attempt %d began: from here it may have been sent", e.Attempt), "step"
	case deed.EventContinued:
		return fmt.Sprintf("The question was answered: attempt %d began", e.Attempt), "step"
	case deed.EventPolicyRefused:
		return "The policy changed: refused before it was sent", "bad"
	case deed.EventProposalVoided:
		return "Rules or tool changed: the proposal must be decided again", "doubt"
	case deed.EventApproved:
		return "Approved", "person"
	case deed.EventApprovalDenied:
		return "Denied by a person", "person"
	case deed.EventSuperseded:
		return "Edited: another operation took its place", "person"
	case deed.EventApprovalLapsed:
		return "Nobody decided in time: the approval lapsed", "bad"
	case deed.EventTimeRanOut:
		return "The time to run it passed", "bad"
	case deed.EventCancelRequested:
		return "Cancelled: no further attempt is made", "person"
	case deed.EventSucceeded:
		return "The upstream answered: done", "good"
	case deed.EventProved:
		return "Proved at the provider: it happened", "good"
	case deed.EventRefused:
		return "Not applied: refused, or nothing was sent", "bad"
	case deed.EventRefusedLate:
		return "An earlier attempt is now known not to have been applied", "step"
	case deed.EventUnclear:
		return "No clear answer: it may have happened", "doubt"
	case deed.EventLeaseLost:
		return "The process that sent it went silent: it may have happened", "doubt"
	case deed.EventInputRequested:
		return "The upstream asked a question", "step"
	case deed.EventTaskGiven:
		return "The upstream promised a later answer", "step"
	case deed.EventInputLapsed:
		return "Nobody answered the question in time", "doubt"
	case deed.EventFoundAbsent:
		return "Looked up: not there, and it cannot appear any more", "step"
	case deed.EventFoundMany:
		return "Looked up: it is there more than once", "doubt"
	case deed.EventUndetermined:
		return "Looked up: no answer either way", "step"
	case deed.EventGaveUp:
		return "Look-ups ended without an answer: a person must decide", "doubt"
	case deed.EventResolvedCommitted:
		return "A person says: it happened", "person"
	case deed.EventResolvedNot:
		return "A person says: it did not happen", "person"
	case deed.EventResolvedAbandoned:
		return "A person closed the question without an answer", "person"
	case deed.EventReopened:
		return "A person lets it be tried again", "person"
	case deed.Delivered:
		return "A caller was handed the receipt", "step"
	case deed.EventObserved:
		return observedWords(e.Data)
	}
	if wouldBe(e.Data) {
		return fmt.Sprintf("Let a call run in observe mode that would have been answered %s: it was sent", strings.ReplaceAll(string(e.Name), "_", " ")), "doubt"
	}
	switch deed.Decision(e.Name) {
	case deed.Replay:
		return "Answered a repeat from the record: nothing was sent", "answer"
	case deed.Conflict:
		return "Refused a call with the same key and another effect: nothing was sent", "bad"
	case deed.InProgress:
		return "Told a caller to wait: nothing was sent", "answer"
	case deed.Denied:
		return "Refused a call: nothing was sent", "answer"
	case deed.Uncertain:
		return "Told a caller that the outcome is unknown: nothing was sent", "answer"
	case deed.Failed:
		return "Answered a caller with the stored refusal: nothing was sent", "answer"
	case deed.AwaitingApproval:
		return "Told a caller that it waits for a person: nothing was sent", "answer"
	case deed.Expired:
		return "Told a caller that it may not run any more: nothing was sent", "answer"
	}
	return strings.ReplaceAll(string(e.Name), "_", " "), "step"
}

// wouldBe reports whether a decision was only observed.
func wouldBe(data []byte) bool {
	var doc struct {
		WouldBe deed.Decision `json:"would_be"`
	}
	return json.Unmarshal(data, &doc) == nil && doc.WouldBe != ""
}

// observedWords tells of a call that ran beside the record.
func observedWords(data []byte) (words, kind string) {
	var doc struct {
		OtherKey bool             `json:"other_key"`
		Outcome  deed.OutcomeKind `json:"outcome"`
	}
	what := "A call of this operation, sent in observe mode beside the record,"
	if json.Unmarshal(data, &doc) == nil && doc.OtherKey {
		what = "A call with an equal effect under another key, sent in observe mode,"
	}
	switch doc.Outcome {
	case "":
		return what + " is on its way: it may happen", "doubt"
	case deed.OutcomeSuccess:
		return what + " was accepted", "doubt"
	case deed.OutcomeRefused, deed.OutcomeUnsent:
		return what + " was not applied", "step"
	}
	return what + " got no clear answer: it may have happened", "doubt"
}
