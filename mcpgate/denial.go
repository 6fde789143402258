// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"fmt"

	"github.com/deed-run/deed"
)

// denial writes the text for each reason of denied.
func (s situation) denial() wording {
	reason := s.answer.Reason
	if p, ok := s.keyDenial(reason); ok {
		return p
	}
	stop := func(next, say string, parts ...string) wording {
		return wording{Text: sentences(append(parts, s.op)...), Next: next, Say: say}
	}
	switch reason {
	case deed.ReasonByPerson:
		return stop(nextStop, "A person refused it.", fmt.Sprintf("%s said no: %s. Nothing was sent. This is final for this action; do not propose it again", s.by(), s.why())+
			s.newAction(" under another key.", ".")+" Tell the user.")
	case deed.ReasonCancelled, deed.ReasonSuperseded:
		return s.cancelled()
	case deed.ReasonTwinDenied:
		return stop(nextStop, "An equal action was refused by a person.", fmt.Sprintf("An equal action was refused by %s: %s. Nothing was sent. Do not propose it again. Tell the user.", s.by(), s.why()))
	case deed.ReasonTwinPending:
		return stop(nextWait, "An equal action is pending.", fmt.Sprintf("An action about the same matter is pending. Nothing was sent by this call. Wait for it; call again in %s s with the same arguments.", s.seconds()))
	case deed.ReasonTwinUndelivered:
		return stop(nextReport, "An earlier action about the same matter was done.", fmt.Sprintf("Not sent: an earlier action about the same matter was done at %s (%s) and nobody had been told. Report it. If yours is wanted beside it, call again with %s.", s.settled(), s.remote(), s.same()))
	case deed.ReasonConflictUnresolved:
		return stop(nextAskUser, "It needs a person's word first.", "Not sent. This content was refused before as a change of an earlier action. It needs a person's word first"+s.newAction("; do not rename the key.", "; do not reword it."))
	case deed.ReasonBudgetExceeded:
		return stop(nextAskUser, "It does not fit the budget.", s.overdrawn())
	case deed.ReasonStoreUnavailable:
		return stop(nextRetrySame, "The record of actions cannot be reached, so nothing that changes things may run.",
			"Not sent: the record of actions cannot be reached, so nothing that changes things may run. Reading still works. Tell the user; call again later with "+s.same()+". An earlier call may exist.")
	case deed.ReasonBadArguments:
		return stop(nextFix, "The arguments were refused.", fmt.Sprintf("Not sent: the arguments were refused: %s. Nothing was recorded. Correct them and call again%s.", s.why(), s.newAction(" with the same key", "")))
	case deed.ReasonFingerprintMismatch:
		return stop(nextFix, "The call is not what its sender computed.", "Not sent: the arguments are not those that effect_fingerprint was computed from. "+s.unsentHere()+" The sender of the fingerprint can correct it.")
	case deed.ReasonUnauthenticated:
		return stop(nextAskUser, "The caller is not authenticated.", "Not sent: the caller is not authenticated. Nothing was sent by this call. The operator of this gateway can issue a token.")
	case deed.ReasonForbidden:
		return stop(nextAskUser, "It is not permitted.", fmt.Sprintf("Not sent: this caller may not run %s (%s). %s The operator can change the policy.", s.tool, s.why(), s.unsentHere()))
	case deed.ReasonNotYours:
		return wording{Text: "Not sent: this key is in use by someone else. Nothing was sent by this call. Use a key that names your own action, or ask its owner.", Next: nextAskUser, Say: "The key belongs to someone else."}
	}
	return s.ruleDenial(reason)
}

// keyDenial speaks of keys that are missing or of the wrong shape.
func (s situation) keyDenial(reason deed.Reason) (wording, bool) {
	ask := fmt.Sprintf("If you tried this action before, use the key shown in deed_operations. Otherwise add one naming it, e.g. %s, and call again with the same arguments.", s.sample)
	switch reason {
	case deed.ReasonMissingOperationKey:
		if !s.hasKey {
			return wording{
				Text: fmt.Sprintf("Not sent: the call does not carry what names this action: %s. Only the program that sends calls can add it. Tell the user; nothing was sent.", s.why()),
				Next: nextAskUser, Say: "The call could not be named, so it was not sent.",
			}, true
		}
		return wording{Text: "Not sent: " + s.keyName + " is missing. " + ask, Next: nextAddKey, Say: "The call was not sent yet: its key is missing."}, true
	case deed.ReasonBadKey:
		return wording{Text: fmt.Sprintf("Not sent: the key has the wrong shape: %s. ", s.why()) + ask, Next: nextAddKey, Say: "The call was not sent yet: its key has the wrong shape."}, true
	case deed.ReasonKeyCarriersDisagree:
		return wording{
			Text: fmt.Sprintf("Not sent: the call carries two different keys (%s). %s The program that sends calls must carry one.", s.why(), s.unsentHere()),
			Next: nextAskUser, Say: "The call carried two different keys.",
		}, true
	}
	return wording{}, false
}

// ruleDenial speaks of rules, versions and rates: what it is, what was not done, who can change it or when to come back.
func (s situation) ruleDenial(reason deed.Reason) wording {
	what, who, next := fmt.Sprintf("the call was refused (%s)", reason), "The operator can say more.", nextAskUser
	switch reason {
	case deed.ReasonPolicyChanged:
		what, who = "the policy no longer permits this action", "The operator can change the policy."
	case deed.ReasonQuarantined:
		what, who = "the definition of "+s.tool+" changed since it was accepted", "The operator can look at it with deed tools diff "+s.full()+", and accept it."
	case deed.ReasonRevisionChanged:
		what, who = "what this action is about has changed meanwhile"+s.because(roomForReasons), "Read it anew and tell the user."
	case deed.ReasonUpstreamChanged:
		what, who = "the server behind "+s.tool+" is another one than when this action was recorded", "The operator can restore it or settle the action."
	case deed.ReasonFingerprintUnverifiable:
		what, who = "the rules that this action was recorded under are gone", "The operator can restore them or settle the action."
	case deed.ReasonApprovalInvalid:
		what, who = "the approval does not fit this action or was used before"+s.because(roomForDigests), "A person must approve it anew."
	case deed.ReasonFenced:
		what, who = "the record was restored from an older state and this action may have happened since", "The operator must settle it."
	case deed.ReasonPolicyOutdated:
		what, who, next = "this gateway runs with older rules than another one", "The operator must restart it with the newer configuration file; call again later with "+s.same()+".", nextRetrySame
	case deed.ReasonLoop:
		what, who, next = "the same call was made too often in a row", fmt.Sprintf("Stop repeating it and tell the user; it is possible again in %s s.", s.seconds()), nextStop
	case deed.ReasonRate:
		what, who, next = "too many calls of "+s.tool, fmt.Sprintf("Call again in %s s with %s.", s.seconds(), s.same()), nextRetrySame
	}
	return wording{Text: sentences("Not sent: "+what+". "+s.unsentHere(), who, s.op), Next: next, Say: "The call was not sent: " + what + "."}
}
