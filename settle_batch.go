// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "fmt"

// asWhole is what the outcome of a batch amounts to: with one member that
// nobody knows of it is unknown, with none accepted it is refused, and
// otherwise it is a success whose receipt names what was refused. Refused
// members are another operation, never another attempt of this one.
func (o Outcome) asWhole() Outcome {
	if o.Kind != OutcomeSuccess || len(o.Receipt.Items) == 0 {
		return o
	}
	accepted, unknown := 0, 0
	for _, item := range o.Receipt.Items {
		switch item.Outcome {
		case OutcomeSuccess:
			accepted++
		case OutcomeRefused, OutcomeUnsent:
		default:
			unknown++
		}
	}
	switch {
	case unknown > 0:
		o.Kind, o.Reason = OutcomeUnknown, ReasonOutcomeUnknown
		o.Message = firstText(o.Message, fmt.Sprintf("of %d members %d were accepted, and of %d nobody knows", len(o.Receipt.Items), accepted, unknown))
	case accepted == 0:
		o.Kind, o.Final, o.Reason = OutcomeRefused, true, ReasonRefused
		o.Message = firstText(o.Message, fmt.Sprintf("none of %d members was accepted", len(o.Receipt.Items)))
	}
	return o
}
