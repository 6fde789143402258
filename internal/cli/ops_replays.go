// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
)

// replayProof is what the record says about how often an operation was carried
// out and how often it was only answered.
type replayProof struct {
	Operation deed.OperationID `json:"operation_id"`
	// Attempts were begun; Applied are known to have been, Open may have been,
	// and all others are known not to have been.
	Attempts int `json:"attempts"`
	Applied  int `json:"applied"`
	Open     int `json:"open"`
	// Replays were answered from the record, Refused were answered otherwise
	// without an attempt.
	Replays int `json:"replays"`
	Refused int `json:"refused"`
	// Observed were sent in observe mode beside the record, and are not known not
	// to have been applied.
	Observed int `json:"observed,omitempty"`
	// AtMostOnce: no more than one attempt, or call in observe mode, was, or may
	// have been, applied.
	AtMostOnce bool         `json:"at_most_once"`
	Events     []deed.Event `json:"events"`
	Proves     []string     `json:"proves"`
	Not        []string     `json:"does_not_prove"`
}

func (a *app) opsProveReplayCommand() *cobra.Command {
	at := place{reads: true}
	c := &cobra.Command{
		Use: "prove-replay OPERATION", Short: "Show the events of one execution and its replays, and what they prove", Args: cobra.ExactArgs(1),
		Long: `Prints the recorded events that say how often the operation was sent and how often
its callers were answered from the record, with what they prove and what they do not.
Exit code 1 when more than one attempt was, or may have been, applied.`,
		Example: "  deed ops prove-replay op_01KB7Q5W2M9X4T6R8V0C3E5G7H",
		RunE: action(func(ctx context.Context, args []string) (err error) {
			d, err := a.desk(ctx, at)
			if err != nil {
				return err
			}
			defer leave(d, &err)
			op, err := d.Get(ctx, deed.OperationID(args[0]))
			if errors.Is(err, deed.ErrNotFound) {
				return at.lookElsewhere(err)
			}
			if err != nil {
				return err
			}
			events, err := d.Events(ctx, op.ID)
			if err != nil {
				return err
			}
			p := proofOf(op, events)
			if a.json {
				err = a.printJSON(p)
			} else {
				err = a.print(p.lines(op, d.Now())...)
			}
			if err == nil && !p.AtMostOnce {
				return exitWith(exitFailed)
			}
			return err
		}),
	}
	at.operatorFlags(c)
	return c
}

func proofOf(op *deed.Operation, events []deed.Event) replayProof {
	p := replayProof{Operation: op.ID, Attempts: len(op.Attempts)}
	begun := 0
	p.Observed = observedCalls(events)
	for _, e := range events {
		switch decision := decisionName(e); decision {
		case "":
			switch e.Name {
			case deed.EventSucceeded, deed.EventProved, deed.EventUnclear, deed.EventRefused, deed.EventRefusedLate, deed.EventLeaseLost,
				deed.EventFoundAbsent, deed.EventResolvedCommitted, deed.EventResolvedNot, deed.EventApproved, deed.EventObserved:
				p.Events = append(p.Events, e)
			}
			continue
		case string(deed.Execute):
			begun++
		case string(deed.Replay):
			if !onlyObserved(e) {
				p.Replays++
			}
		default:
			if !onlyObserved(e) {
				p.Refused++
			}
		}
		p.Events = append(p.Events, e)
	}
	for _, attempt := range op.Attempts {
		switch {
		case attempt.Proved:
			p.Applied++
		case attempt.Open():
			p.Open++
		}
	}
	p.AtMostOnce = p.Applied+p.Open+p.Observed <= 1 && !op.Diverged
	p.Proves = append(p.Proves, fmt.Sprintf("%s in the ledger, %s begun in its history", many(p.Attempts, "attempt"), countWords(begun)))
	if p.Observed > 0 {
		p.Proves = append(p.Proves, many(p.Observed, "call")+" of it sent in observe mode, beside the record, and not known not to have been applied")
	}
	switch {
	case p.Attempts == 0 && p.Observed > 0:
	case p.Attempts == 0:
		p.Proves = append(p.Proves, "nothing was sent through this ledger under this operation")
	case p.AtMostOnce && p.Applied == 1:
		p.Proves = append(p.Proves, "one of them was applied, each other one is known not to have been")
	case p.AtMostOnce && p.Open == 1:
		p.Proves = append(p.Proves, "one of them may have been applied, each other one is known not to have been")
	case p.AtMostOnce && p.Applied+p.Open == 0:
		p.Proves = append(p.Proves, "all of them are known not to have been applied")
	}
	p.Proves = append(p.Proves, fmt.Sprintf("%s answered from the record and %s turned away, without an attempt", many(p.Replays, "call"), many(p.Refused, "call")))
	p.Not = []string{
		"what the provider did with what it was sent: ask it, by the receipt's id",
		"that the same action was never sent under another key, or past deed",
		"that nobody with write access changed the ledger file: its events are not signed",
		"that every answered call is listed: calls answered just before a crash may be missing",
	}
	switch {
	case !p.AtMostOnce && p.Observed > 0:
		p.Not = append([]string{"at most one effect: observe mode sends what the record would have answered"}, p.Not...)
	case !p.AtMostOnce && p.Applied+p.Open <= 1:
		p.Not = append([]string{fmt.Sprintf("at most one effect: its receipts name more than one object (%s), though not more than one attempt of this ledger may have been applied: a person said so, or it was sent past deed", strings.Join(remoteIDs(op), ", "))}, p.Not...)
	case !p.AtMostOnce:
		p.Not = append([]string{"at most one effect: more than one attempt was, or may have been, applied (under one provider key the provider may have taken them for one)"}, p.Not...)
	}
	return p
}

// onlyObserved reports whether a decision was made in observe mode, which sent the
// call all the same.
func onlyObserved(e deed.Event) bool {
	var data struct {
		WouldBe deed.Decision `json:"would_be"`
	}
	return json.Unmarshal(e.Data, &data) == nil && data.WouldBe != ""
}

// observedCalls counts the calls of the operation that were sent in observe mode
// and are not known not to have been applied. Of what can still run the history
// tells each by its own events, of what cannot by the decision. A decision that
// names an attempt is of that, which is counted already.
func observedCalls(events []deed.Event) (n int) {
	open := map[string]bool{}
	for _, e := range events {
		if e.Name != deed.EventObserved {
			ended := e.Name == deed.EventName(deed.Replay) || e.Reason == deed.ReasonByPerson || e.Reason == deed.ReasonCancelled
			if ended && e.Attempt == 0 && decisionName(e) != "" && onlyObserved(e) {
				n++
			}
			continue
		}
		var data struct {
			Call     string           `json:"call"`
			OtherKey bool             `json:"other_key"`
			Outcome  deed.OutcomeKind `json:"outcome"`
		}
		if json.Unmarshal(e.Data, &data) == nil && !data.OtherKey {
			open[data.Call] = data.Outcome != deed.OutcomeRefused && data.Outcome != deed.OutcomeUnsent
		}
	}
	for _, may := range open {
		if may {
			n++
		}
	}
	return n
}

func countWords(n int) string {
	if n == 1 {
		return "1 was"
	}
	return fmt.Sprintf("%d were", n)
}

func (p replayProof) lines(op *deed.Operation, now time.Time) []string {
	lines := facts([][2]string{
		{"operation", string(op.ID)}, {"status", standing(op, now)}, {"tool", string(op.Tool)}, {"key", keyText(op.Key)},
		{"receipts", strings.Join(remoteIDs(op), ", ")},
	})
	rows := [][]string{{"AT", "EVENT", "ATTEMPT", "REASON", "ACTOR", "ID"}}
	for _, e := range p.Events {
		attempt := "-"
		if e.Attempt > 0 {
			attempt = fmt.Sprint(e.Attempt)
		}
		rows = append(rows, []string{when(e.At, now), string(e.Name), attempt, orDash(string(e.Reason)), string(e.Actor), string(e.ID)})
	}
	lines = append(lines, section("events", rows)...)
	lines = append(lines, "", "this proves")
	for _, text := range p.Proves {
		lines = append(lines, "  "+text)
	}
	lines = append(lines, "", "it does not prove")
	for _, text := range p.Not {
		lines = append(lines, "  "+text)
	}
	return lines
}
