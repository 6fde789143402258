// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"fmt"

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
	if len(s.answer.Result) == 0 {
		return wording{
			Text: sentences(fmt.Sprintf("Already done at %s (%s); only the receipt is kept. Nothing was sent now.", s.settled(), s.remote()), s.op),
			Next: nextReport, Say: "It was already done; only the receipt is kept.",
		}
	}
	return wording{
		Text: sentences(fmt.Sprintf("Already done: this is the saved result of %s from %s (%s). Nothing was sent now. Report it as done at that time, once.", s.tool, s.settled(), s.remote()),
			s.newAction("Only if the user asked for another, separate one, call with a new "+s.keyName+".", ""), s.op),
		Next: nextReport, Say: "It was done at " + s.settled() + ".",
	}
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
		return wording{
			Text: sentences("Not sent. The tool's question was answered before, with other answers; the first ones count. Nothing was sent now. Keep to the first answers, or tell the user.", s.op),
			Next: nextAskUser, Say: "The tool's question had already been answered otherwise.",
		}
	}
	status := "nothing may be shown of it"
	if op := s.answer.Operation; op != nil {
		status = string(s.answer.Effective) + ", " + s.remote()
	}
	action := "a different " + s.tool + " action"
	if op := s.answer.Operation; op != nil && op.Tool.Name() != s.tool {
		action = "an action of another tool, " + op.Tool.Name()
	}
	named := "This identity"
	if s.key != "" && s.hasKey {
		named = "Key " + s.key
	}
	return wording{
		Text: sentences(fmt.Sprintf("Not sent. %s already names %s (%s); these arguments differ. If you meant that one, stop here and report it.", named, action, status),
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
		Text: sentences(fmt.Sprintf("Still running since %s; nothing was sent twice. In %s s call once more with %s: you get its result.", s.when, s.seconds(), s.same()),
			s.newAction("A new key would not be faster and is refused.", ""), s.op),
		Next: nextRetrySame, Say: "It is still running.",
	}
}

func (s situation) waiting() wording {
	until := "it is decided"
	if op := s.answer.Operation; op != nil && op.Approval != nil {
		until = stamp(op.Approval.ExpiresAt)
	}
	return wording{
		Text: sentences(fmt.Sprintf("Not done yet and not an error: a person must approve exactly this action, until %s. Nothing was sent. Keep %s; a change needs a new approval. Tell the user it is waiting as %s.", until, s.newAction("key and arguments", "the arguments"), s.id),
			"After approval call again with "+s.newAction("the same key", "the same arguments")+". Ask at most every 10 min; ending your turn loses nothing."),
		Next: nextWait, Say: "It waits for a person's approval.",
	}
}

func (s situation) unsure(reason deed.Reason) wording {
	say := "It is unconfirmed: neither done nor failed."
	switch reason {
	case deed.ReasonToolError:
		reported := "The tool reported an error; whether anything changed is not known. Read the error."
		if s.stored() {
			reported = fmt.Sprintf("Nothing was sent now: the tool reported this error at %s; whether anything changed then is not known. Read the error.", s.settled())
		}
		return wording{
			Text: sentences(reported, "If it names a mistake, fix the arguments"+s.newAction(" and use a new key", "")+". Do not send the identical call again; check first.", s.op),
			Next: nextCheck, Say: "The tool reported an error; whether anything changed is not known.",
		}
	case deed.ReasonFoundMany:
		return wording{
			Text: sentences("This action appears more than once at the provider. A person is looking. Do not send anything more for it.", s.op),
			Next: nextStop, Say: "The action appears more than once at the provider; a person is looking.",
		}
	case deed.ReasonAbandoned:
		return wording{
			Text: sentences("Nobody could find out whether this happened; a person closed it. Do not repeat it.", s.op),
			Next: nextStop, Say: "Nobody could find out whether it happened; a person closed it.",
		}
	}
	if op := s.answer.Operation; op != nil && op.NoMoreAttempts && reason != deed.ReasonTwinUnresolved {
		return wording{
			Text: sentences(fmt.Sprintf("OUTCOME UNKNOWN: do not repeat. %s was sent at %s and no clear answer came back; it may have happened. It was cancelled since, so nothing more is tried.", s.tool, s.when),
				s.newAction("Do not send it again, under this key, another key or other words. Tell the user.", "Do not send it again, in these or other words. Tell the user."), s.op),
			Next: nextStop, Say: "It is unconfirmed, and nothing more will be tried.",
		}
	}
	look := ""
	if s.reads != "" {
		look = "You may look with " + s.reads + "; report what you see."
	}
	ending := "Tell the user it is unconfirmed, neither done nor failed. Go on with work that does not depend on it."
	if op := s.answer.Operation; op != nil && op.Effect == deed.EffectIdempotent && reason != deed.ReasonTwinUnresolved {
		return wording{
			Text: sentences(fmt.Sprintf("OUTCOME UNKNOWN: %s was sent at %s and no clear answer came back; it may have happened.", s.tool, s.when), look,
				"Tell the user it is unconfirmed, neither done nor failed. Repeating this exact call"+s.newAction(" with the same key", "")+" is safe.", s.op),
			Next: nextRetrySame, Say: say,
		}
	}
	if reason == deed.ReasonTwinUnresolved {
		earlier := "A call with this content, or about the same matter, is already out and unresolved."
		if op := s.answer.Operation; op != nil {
			shared := "about the same matter"
			if op.Fingerprint == s.answer.Received {
				shared = "with this content"
			}
			earlier = fmt.Sprintf("A call %s is already out (%s, %s) and unresolved.", shared, s.id, s.when)
		}
		return wording{
			Text: sentences("OUTCOME UNKNOWN: do not repeat.", earlier, s.newAction("A new key is not a safer retry.", ""), "Nothing was sent by this call. Do not send it in other words either, until that is known.", look, ending),
			Next: nextStop, Say: say,
		}
	}
	return wording{
		Text: sentences(fmt.Sprintf("OUTCOME UNKNOWN: do not repeat. %s was sent at %s and no clear answer came back; it may have happened.", s.tool, s.when),
			s.newAction("Do not send it again, under this key, another key or other words, until that is known.", "Do not send it again, in these or other words, until that is known."), look, ending, s.op),
		Next: nextStop, Say: say,
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
