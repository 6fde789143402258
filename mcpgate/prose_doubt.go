// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"fmt"
	"time"

	"github.com/deed-run/deed"
)

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
	look := s.look()
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
			at := s.id + ", " + s.when
			if op.Current() == nil { // the call that is out ran beside the record, in observe mode, and not when that was made
				at = s.id
			}
			earlier = fmt.Sprintf("A call %s is already out (%s) and unresolved.", shared, at)
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

// usualCheck is when a look-up is likely to have been made, where nothing more is known.
const usualCheck = 30 * time.Second

// look says how the doubt may end: by a look-up that is under way, or by the model's own.
func (s situation) look() string {
	if after, checked := s.checked(); checked && s.tells && s.id != "" {
		return fmt.Sprintf("It is being checked: read deed_operations %s after %d s.", s.id, int64((after+time.Second-1)/time.Second))
	}
	if s.reads != "" {
		return "You may look with " + s.reads + "; report what you see."
	}
	return ""
}

// checked reports whether look-ups of the operation go on, and after how long there may be news.
func (s situation) checked() (time.Duration, bool) {
	op := s.answer.Operation
	if s.answer.Rule.GiveUp <= 0 || op == nil || op.Current() == nil || op.Reason == deed.ReasonFoundMany || op.Reason == deed.ReasonAbandoned {
		return 0, false
	}
	p := op.Current().Probing
	switch {
	case p == nil:
		return usualCheck, true
	case !p.GaveUpAt.IsZero():
		return 0, false
	}
	return min(max(p.NextAt.Sub(s.answer.At), 5*time.Second), 10*time.Minute), true
}
