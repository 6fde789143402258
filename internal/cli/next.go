// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// step is something that may be done with an operation where it stands.
type step struct {
	What    string `json:"what"`
	Command string `json:"command,omitempty"`
}

// nextSteps reads off the transition table what a person may do, with the exact
// command at the same place.
func nextSteps(op *deed.Operation, now time.Time, out outlook, at place) []step {
	var steps []step
	state := op.EffectiveState(now)
	command := func(verb, rest string) string {
		return at.command("ops "+verb, string(op.ID), rest)
	}
	// gateway offers what reaches a provider: that takes the configuration that
	// says how.
	gateway := func(what, verb string) {
		if at.config == "" && at.server == "" {
			steps = append(steps, step{What: what + ": deed ops " + verb + " with the --config of its gateway, or --server"})
			return
		}
		steps = append(steps, step{what, command(verb, "")})
	}
	offer := func(event deed.EventName, what, verb, rest string) {
		if allowed(event, state) {
			steps = append(steps, step{what, command(verb, rest)})
		}
	}
	switch state {
	case deed.StateAwaitingApproval:
		steps = append(steps, step{What: "it waits for a person until " + op.Approval.ExpiresAt.UTC().Format(time.RFC3339) + "; look at the arguments, then decide:"})
		if out.fence != nil {
			steps = append(steps, step{What: fenceWarning(op, out.fence)})
		}
		offer(deed.EventApproved, consentWords(op.Approval), "approve", "--digest "+string(op.Approval.Digest))
		offer(deed.EventApprovalDenied, "never send it; the agent is told why", "deny", "--digest "+string(op.Approval.Digest)+` --reason "why"`)
	case deed.StateAuthorized:
		if out.fence != nil {
			steps = append(steps, step{What: fenceWarning(op, out.fence)})
		}
		what := "it is approved and sent by a gateway by itself"
		if op.Approval == nil || op.Approval.Run == deed.RunOnCall {
			what = "it is sent when its caller calls again with the same key"
		}
		steps = append(steps, step{What: what})
		gateway("send it now", "run")
	case deed.StateExecuting:
		steps = append(steps, step{What: "wait: an attempt is under way until " + op.LeaseExpiresAt.UTC().Format(time.RFC3339) + " at least"})
	case deed.StateFailedRetryable:
		steps = append(steps, step{What: "the caller may send the same call under the same key again from " + op.RetryAt.UTC().Format(time.RFC3339)})
		gateway("send it again now", "run")
	case deed.StateUncertain, deed.StateAwaitingInput, deed.StateAbandoned:
		if now.Before(out.hears) {
			steps = append(steps, step{What: "until " + out.hears.UTC().Format(time.RFC3339) + " the process that sent it may still report; decide after that, or add --force to the command (only with --not-applied does that risk a second effect)"})
		}
		if current := op.Current(); out.looks || current != nil && current.Probing != nil {
			gateway("look it up at the provider now", "reconcile")
		}
		steps = append(steps, step{What: "find out at " + op.Tool.Upstream() + " whether it happened, then say what you saw:"})
		offer(deed.EventResolvedCommitted, "it happened", "resolve", `--committed --remote-id ID --reason "how you know"`)
		not := "it did not happen; this permits another attempt"
		if op.NoMoreAttempts {
			not = "it did not happen; it ends as cancelled"
		}
		offer(deed.EventResolvedNot, not, "resolve", `--not-applied --reason "how you know"`)
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

// settleDamaged says what is left to do with a record whose arguments are not the
// frozen ones: whatever takes none.
func (p place) settleDamaged(damaged *deed.DamagedError, now time.Time) error {
	op := damaged.Operation
	text := fmt.Sprintf("%v; they are neither shown nor sent, and it is %s; nothing was changed; restore the ledger", damaged, standing(op, now))
	for i, s := range damagedSteps(op, now, p) {
		if i == 0 {
			text += ", or settle it without them:"
		}
		text += "\n  " + plain(s.What) + "\n    " + s.Command
	}
	return &failure{code: exitFailed, err: errors.New(text)}
}

// damagedSteps leaves out all that would send the arguments, consent to them, or
// look for what they name.
func damagedSteps(op *deed.Operation, now time.Time, at place) []step {
	var steps []step
	state := op.EffectiveState(now)
	offer := func(event deed.EventName, what, verb, rest string) {
		if allowed(event, state) {
			steps = append(steps, step{what, at.command("ops "+verb, string(op.ID), rest)})
		}
	}
	if op.Approval != nil {
		offer(deed.EventApprovalDenied, "never send it; the agent is told why", "deny", "--digest "+string(op.Approval.Digest)+` --reason "why"`)
	}
	switch state {
	case deed.StateUncertain, deed.StateAwaitingInput, deed.StateAbandoned, deed.StateFailedRetryable, deed.StateFailedFinal:
		offer(deed.EventResolvedCommitted, "it happened, as "+op.Tool.Upstream()+" shows", "resolve", `--committed --remote-id ID --reason "how you know"`)
		offer(deed.EventResolvedNot, "it did not happen", "resolve", `--not-applied --reason "how you know"`)
		offer(deed.EventResolvedAbandoned, "nobody can find out", "resolve", `--abandon --reason "why"`)
	}
	if state != deed.StateCancelled && state != deed.StateExpired && !op.NoMoreAttempts {
		offer(deed.EventCancelRequested, "let nothing more be tried", "cancel", `--reason "why"`)
	}
	return steps
}

// consentWords say what a consent to a proposal does.
func consentWords(a *deed.Approval) string {
	words := "send exactly this, once"
	if a.Run == deed.RunOnCall {
		words = "let its caller's next call send exactly this, once"
	}
	if a.Quorum > 1 {
		words = fmt.Sprintf("consent, as one of %d of whom %d have: with the last one, %s", a.Quorum, len(a.Votes), words)
	}
	return words
}

// fenceWarning says what a standing fence means for a consent to the operation.
func fenceWarning(op *deed.Operation, fence *api.Fence) string {
	return "a fence stands: the ledger has lost what was done from " + fence.Since.UTC().Format(time.RFC3339) + " to " + fence.SetAt.UTC().Format(time.RFC3339) +
		", and this may have been done then; before it is sent, look at " + op.Tool.Upstream() +
		" for the mark that its arguments carry, where its rule plants one, and for what they name; if it is there, deny it"
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
