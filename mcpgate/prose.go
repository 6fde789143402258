// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"fmt"
	"strings"

	"github.com/deed-run/deed"
)

// prose writes the text for an answer: one case for each decision and reason that a call can be answered with. An execute speaks of the
// status that its attempt ended in.
func (s situation) prose() wording {
	switch s.answer.Decision {
	case deed.Execute:
		return s.executed()
	case deed.Replay:
		return s.replayed()
	case deed.Conflict:
		return s.conflicting()
	case deed.InProgress:
		return s.running()
	case deed.AwaitingApproval:
		return s.waiting()
	case deed.Uncertain:
		return s.unsure(s.answer.Reason)
	case deed.Failed:
		return s.failure(s.answer.Reason)
	case deed.Expired:
		return wording{
			Text: sentences("Never run: its time to run passed at "+s.expired()+". Nothing was sent.", "If it is still wanted, propose it as a new action"+s.newAction(" with a new "+s.keyName+".", "."), s.op),
			Next: nextAskUser, Say: "It was never run, because its time to run passed.",
		}
	}
	return s.denial()
}

func (s situation) expired() string {
	if op := s.answer.Operation; op != nil && !op.DispatchBy.IsZero() {
		return stamp(op.DispatchBy)
	}
	return s.settled()
}

func (s situation) executed() wording {
	reason := s.answer.Reason
	switch s.answer.Effective {
	case deed.StatusUncertain:
		return s.unsure(reason)
	case deed.StatusFailed:
		return s.failure(reason)
	case deed.StatusCancelled:
		return s.cancelled()
	case deed.StatusAwaitingInput:
		return s.running()
	case deed.StatusExecuting:
		return s.running()
	}
	return wording{}
}

func (s situation) replayed() wording {
	if by := s.established(); len(s.answer.Result) == 0 && by != "" {
		return wording{
			Text: sentences(fmt.Sprintf("Already done: %s (%s); it was sent at %s. There is no saved result. Nothing was sent now.", by, s.remote(), s.when), s.still(), s.op),
			Next: nextReport, Say: "It was already done: " + by + ".",
		}
	}
	if len(s.answer.Result) == 0 {
		return wording{
			Text: sentences(fmt.Sprintf("Already done at %s (%s); only the receipt is kept. Nothing was sent now.", s.settled(), s.remote()), s.still(), s.op),
			Next: nextReport, Say: "It was already done; only the receipt is kept.",
		}
	}
	return wording{
		Text: sentences(fmt.Sprintf("Already done: this is the saved result of %s from %s (%s). Nothing was sent now. Report it as done at that time, once.", s.tool, s.settled(), s.remote()), s.still(),
			s.newAction("Only if the user asked for another, separate one, call with a new "+s.keyName+".", ""), s.op),
		Next: nextReport, Say: "It was done at " + s.settled() + ".",
	}
}

// still says what became of what was created.
func (s situation) still() string {
	switch s.answer.Current {
	case currentFound:
		return "It still exists."
	case currentGone:
		return "It has been removed since."
	case currentUnknown:
		return "Whether it still exists is not known."
	}
	return ""
}

// established says who knows of a commit that no reply proved, or "".
func (s situation) established() string {
	op := s.answer.Operation
	if op == nil || op.Receipt() == nil {
		return ""
	}
	by := op.Receipt().EstablishedBy
	switch {
	case strings.HasPrefix(by, deed.ByOperator):
		return "a person confirmed it"
	case strings.HasPrefix(by, deed.ByReconcile):
		return "it was found at the provider"
	case by == deed.ByWebhook:
		return "the provider reported it"
	}
	return ""
}

func (s situation) conflicting() wording {
	switch s.answer.Reason {
	case deed.ReasonKeyReusedAfterWindow:
		return wording{
			Text: sentences(fmt.Sprintf("Not sent. Key %s names an action settled at %s (%s). If that is what you mean, it is done.", s.key, s.settled(), s.remote()),
				s.newAction("For another one, build a key from today's facts.", ""), s.op),
			Next: nextReport, Say: "The key names an action that was settled earlier.",
		}
	case deed.ReasonInputDiffers:
		if s.answer.Effective == deed.StatusAwaitingInput {
			return wording{
				Text: sentences("Not sent. This answer fits no question that is open here; the tool's question still waits for its first answer. Call again without an answer"+
					s.newAction(", with the same key", "")+", to be asked it, and answer that. Nothing was sent now.", s.op),
				Next: nextAnswerInput, Say: "The answer fits no open question; the tool's question still waits.",
			}
		}
		return wording{
			Text: sentences("Not sent. The tool's question was answered before, with other answers; the first ones count. Nothing was sent now. Keep to the first answers, or tell the user.", s.op),
			Next: nextAskUser, Say: "The tool's question had already been answered otherwise.",
		}
	}
	status := "nothing may be shown of it"
	if op := s.answer.Operation; op != nil {
		status = string(s.answer.Effective) + ", " + s.remote()
	}
	action, differs := "a different "+s.tool+" action", "these arguments differ"
	switch op := s.answer.Operation; {
	case op == nil:
	case op.Tool.Name() != s.tool:
		action, differs = "an action of another tool, "+op.Tool.Name(), "this call is of "+s.tool
	case s.answer.Rule.Tool != "" && op.Tool != s.answer.Rule.Tool:
		action, differs = "an action under another name of a server, "+string(op.Tool), "this call is of "+s.full()
	}
	named := "This identity"
	if s.key != "" && s.hasKey {
		named = "Key " + s.key
	}
	return wording{
		Text: sentences(fmt.Sprintf("Not sent. %s already names %s (%s); %s. If you meant that one, stop here and report it.", named, action, status, differs),
			"If the change is wanted, tell the user what exists and what you would change, and wait for their decision; then it is a new action"+s.newAction(" with a new key. Do not rename the key to get past this.", "."), s.op),
		Next: nextAskUser, Say: "The call was not sent: it differs from an action that exists already.",
	}
}

func (s situation) running() wording {
	switch {
	case s.answer.Reason == deed.ReasonAwaitingInput, s.answer.Effective == deed.StatusAwaitingInput:
		return wording{
			Text: sentences("The tool asked a question; answer that"+s.newAction(", with the same key", "")+". Nothing else was sent.", s.op),
			Next: nextAnswerInput, Say: "The tool asked a question.",
		}
	case s.answer.Reason == deed.ReasonTwinExecuting:
		return wording{
			Text: sentences(fmt.Sprintf("An equal action is already under way; nothing was sent by this call. Wait for it; call again in %s s with the same arguments.", s.seconds()), s.op),
			Next: nextWait, Say: "An equal action is already under way.",
		}
	}
	return wording{
		Text: sentences(fmt.Sprintf("Still running since %s; nothing was sent twice. In %s s call once more with %s: you get its result, or that it is unknown.", s.when, s.seconds(), s.same()),
			s.newAction("A new key would not be faster and is refused.", ""), s.op),
		Next: nextRetrySame, Say: "It is still running.",
	}
}

func (s situation) failure(reason deed.Reason) wording {
	op := s.answer.Operation
	again := op != nil && op.Retryable && op.Status == deed.StatusFailed && reason != deed.ReasonTooOld
	person := op != nil && op.DecidedBy != ""
	text, say := "Not applied, for certain: "+s.why()+".", "It was not applied."
	switch {
	case s.stored() && person:
		text = fmt.Sprintf("Nothing was sent now: not applied, as %s established at %s: %s.", s.by(), s.settled(), s.why())
	case s.stored():
		text = fmt.Sprintf("Nothing was sent now: this %s at %s and was not applied, for certain: %s.", s.fell(), s.settled(), s.why())
	case person:
		text = fmt.Sprintf("Not applied, according to %s: %s.", s.by(), s.why())
	}
	if reason == deed.ReasonTooOld {
		return wording{
			Text: sentences("Not applied, and too old to run now. Nothing was sent. If it is still wanted, propose it as a new action"+s.newAction(" with a new key", "")+".", s.op),
			Next: nextAskUser, Say: say,
		}
	}
	if again {
		return wording{Text: sentences(text, fmt.Sprintf("Call again with %s after %s s.", s.same(), s.seconds()), s.op), Next: nextRetrySame, Say: say}
	}
	return wording{
		Text: sentences(text, "Retrying unchanged gives the same answer. Correct the arguments or get permission; the corrected call is a new action"+s.newAction(" with a new key", "")+".", s.op),
		Next: nextFix, Say: say,
	}
}

// fell says how an attempt came to nothing.
func (s situation) fell() string {
	if op := s.answer.Operation; op != nil && op.Reason == deed.ReasonRefused {
		return "was refused"
	}
	return "failed"
}

func (s situation) cancelled() wording {
	return wording{
		Text: sentences(fmt.Sprintf("Cancelled by %s at %s; nothing was applied. Do not propose it again unless the user asks.", s.by(), s.settled()), s.op),
		Next: nextStop, Say: "It was cancelled; nothing was applied.",
	}
}
