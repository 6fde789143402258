// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// step is something that may be done with an operation where it stands.
type step struct {
	What    string `json:"what"`
	Command string `json:"command,omitempty"`
}

// nextSteps reads off the transition table what a person may do, with the exact
// command. hears is until when the process that sent it may still report; before
// that a decision needs --force. where holds the flags that lead to the same ledger.
func nextSteps(op *deed.Operation, now, hears time.Time, where string) []step {
	var steps []step
	state := op.EffectiveState(now)
	command := func(verb, rest string) string {
		return strings.Join(strings.Fields("deed ops "+verb+" "+string(op.ID)+" "+rest+" "+where), " ")
	}
	offer := func(event deed.EventName, what, verb, rest string) {
		if allowed(event, state) {
			steps = append(steps, step{what, command(verb, rest)})
		}
	}
	switch state {
	case deed.StateExecuting:
		steps = append(steps, step{What: "wait: an attempt is under way until " + op.LeaseExpiresAt.UTC().Format(time.RFC3339) + " at least"})
	case deed.StateFailedRetryable:
		steps = append(steps, step{What: "the caller may send the same call under the same key again from " + op.RetryAt.UTC().Format(time.RFC3339)})
	case deed.StateUncertain, deed.StateAwaitingInput, deed.StateAbandoned:
		if now.Before(hears) {
			steps = append(steps, step{What: "until " + hears.UTC().Format(time.RFC3339) + " the process that sent it may still report; decide after that, or add --force to the command (only with --not-applied does that risk a second effect)"})
		}
		steps = append(steps, step{What: "look at " + op.Tool.Upstream() + " whether it happened, then say what you saw:"})
		offer(deed.EventResolvedCommitted, "it happened", "resolve", `--committed --remote-id ID --reason "how you know"`)
		offer(deed.EventResolvedNot, "it did not happen; this permits another attempt", "resolve", `--not-applied --reason "how you know"`)
		if state != deed.StateAbandoned {
			offer(deed.EventResolvedAbandoned, "nobody can find out", "resolve", `--abandon --reason "why"`)
		}
	case deed.StateCommitted:
		if r := op.Receipt(); r != nil && r.Established == deed.EstablishedStated && len(remoteIDs(op)) == 0 {
			offer(deed.EventResolvedCommitted, "no receipt names the provider's id; to add it", "resolve", `--committed --remote-id ID --reason "how you know"`)
		}
	case deed.StateFailedFinal:
		offer(deed.EventReopened, "let the caller try once more", "reopen", `--reason "what changed"`)
	}
	switch state {
	case deed.StateFailedRetryable, deed.StateFailedFinal:
		offer(deed.EventResolvedCommitted, "it happened after all", "resolve", `--committed --remote-id ID --reason "how you know"`)
	}
	if state != deed.StateCancelled && state != deed.StateExpired && !op.NoMoreAttempts {
		offer(deed.EventCancelRequested, "let nothing more be tried", "cancel", `--reason "why"`)
	}
	return steps
}

// allowed reports whether the transition table lets a person's event happen.
func allowed(event deed.EventName, state deed.State) bool {
	for _, row := range deed.Transitions() {
		if row.Event != event {
			continue
		}
		for i, s := range deed.States() {
			if s == state {
				target := row.Cells[i].Target()
				return target != "!" && target != "·"
			}
		}
	}
	return false
}
