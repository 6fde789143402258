// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// statusWords is a status as people read it.
func statusWords(s deed.Status) string {
	switch s {
	case deed.StatusAwaitingApproval:
		return "awaiting approval"
	case deed.StatusAwaitingInput:
		return "awaiting input"
	}
	return string(s)
}

// ago is a distance in time, to the largest unit that says enough.
func ago(now, then time.Time) string {
	if then.IsZero() {
		return ""
	}
	if d := now.Sub(then); d >= 0 {
		if d < 5*time.Second {
			return "just now"
		}
		return span(d) + " ago"
	}
	return "in " + span(then.Sub(now))
}

// span is a duration in one or two units.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		if m := int(d.Minutes()) % 60; m != 0 && d < 10*time.Hour {
			return fmt.Sprintf("%d h %d min", int(d.Hours()), m)
		}
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// short cuts a digest or an id to what people tell apart by eye.
func short(text any) string {
	s := fmt.Sprint(text)
	if len(s) > 19 {
		return s[:15] + "…"
	}
	return s
}

// banner says in words where an operation stands: what is established, and
// what may happen next.
type banner struct {
	Head string
	Text string
}

func bannerOf(op *deed.Operation, now time.Time) banner {
	upstream := op.Tool.Upstream()
	if upstream == "" {
		upstream = "the provider"
	}
	switch op.EffectiveState(now) {
	case deed.StateAwaitingApproval:
		return banner{"A person must decide.", "Nothing was sent. It waits for consent to exactly these bytes."}
	case deed.StateAuthorized:
		return banner{"It may be sent, and has not been.", "Nothing was sent yet."}
	case deed.StateExecuting:
		return banner{"An attempt is under way.", "It may have reached " + upstream + " already; its process still reports. A repeat of the call sends nothing."}
	case deed.StateAwaitingInput:
		return banner{upstream + " asked a question.", "The attempt ended with it. The caller answers with the same key."}
	case deed.StateCommitted:
		return committedBanner(op)
	case deed.StateFailedRetryable, deed.StateFailedFinal:
		return failedBanner(op)
	case deed.StateUncertain:
		return uncertainBanner(op, upstream)
	case deed.StateAbandoned:
		return banner{"Nobody could find out whether this happened.", "A person closed the question. Nothing more is tried; a late proof still counts, and it can still be decided."}
	case deed.StateDenied:
		return banner{"It was refused. Nothing was sent.", by(op, "The refusal is final for this action.")}
	case deed.StateCancelled:
		if op.Reason == deed.ReasonSuperseded {
			return banner{"Another operation took its place.", "Nothing was sent under this one. Its key answers as the successor."}
		}
		return banner{"It was cancelled. Nothing was applied.", by(op, "")}
	case deed.StateExpired:
		return banner{"It never ran.", "Its time to run has passed. Nothing was sent."}
	}
	return banner{string(op.Status), ""}
}

func committedBanner(op *deed.Operation) banner {
	b := banner{"It happened once.", "The receipt is durable. Every repeat of the call gets it; nothing is sent again."}
	r := op.Receipt()
	switch {
	case op.Diverged:
		b = banner{"It happened more than once.", "Two proofs name two different objects at the provider. Both receipts are below: one of the effects must be undone by hand."}
	case op.Contradicted:
		b = banner{"The evidence contradicts itself.", "It was recorded as done, and later evidence speaks against that. Look at the history."}
	case r != nil && r.EstablishedBy != deed.ByReply:
		b.Text = "It was established afterwards: " + r.Established + ". Every repeat of the call gets the receipt; nothing is sent again."
	}
	return b
}

func failedBanner(op *deed.Operation) banner {
	b := banner{"It was not applied.", "That is certain: " + failedWhy(op) + "."}
	if op.DecidedBy != "" {
		b.Text = "That is according to " + op.DecidedBy + "."
	}
	if op.Retryable && !op.NoMoreAttempts {
		b.Text += " The same call under its key may send it again."
	} else {
		b.Text += " It is final."
	}
	return b
}

func failedWhy(op *deed.Operation) string {
	switch op.Reason {
	case deed.ReasonNotSent:
		return "no byte of it left"
	case deed.ReasonRefused:
		return "the provider refused it"
	case deed.ReasonTooOld:
		return "no attempt of it was applied, and its time has passed"
	}
	return "every attempt is known not to have been applied"
}

func uncertainBanner(op *deed.Operation, upstream string) banner {
	switch op.Reason {
	case deed.ReasonToolError:
		return banner{"The tool reported an error. Nobody knows whether anything changed.", "Nothing is sent again until that is known."}
	case deed.ReasonFoundMany:
		return banner{"It appears more than once at " + upstream + ".", "A person must look there and say which objects are this operation's."}
	}
	return banner{upstream + " may have executed this. Nobody knows yet.", "It was sent and no clear answer came back. Nothing is sent again until somebody finds out."}
}

func by(op *deed.Operation, text string) string {
	if op.DecidedBy == "" {
		return text
	}
	if text != "" {
		text = " " + text
	}
	return "Decided by " + op.DecidedBy + "." + text
}

// reasonWords is the reason of a status, where it says more than the status.
func reasonWords(op *deed.Operation) string {
	switch op.Reason {
	case deed.ReasonPending, deed.ReasonCancelled, deed.ReasonNeverRan, deed.ReasonAwaitingInput:
		return ""
	}
	return strings.ReplaceAll(string(op.Reason), "_", " ")
}

// matterWords is the business subject of an effect without its brackets.
func matterWords(m deed.Matter) string {
	var values []any
	decoder := json.NewDecoder(strings.NewReader(string(m)))
	decoder.UseNumber()
	if m == "" || decoder.Decode(&values) != nil {
		return string(m)
	}
	words := make([]string, len(values))
	for i, value := range values {
		word, plain := value.(string)
		if !plain {
			word = text(value)
		}
		words[i] = word
	}
	return strings.Join(words, ", ")
}
