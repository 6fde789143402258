// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"fmt"

	"github.com/deed-run/deed"
)

// Batch sums up the items of one request: one unknown item makes all of it unknown; with none unknown, one success makes it a success that
// names the refused ones in its receipt; with no success at all it is refused, or unsent where nothing but unsent items is left. Refused
// items are a new operation, so a batch with successes is never tried again.
func Batch(items []deed.Item, final bool) deed.Outcome {
	count := map[deed.OutcomeKind]int{}
	for _, item := range items {
		switch item.Outcome {
		case deed.OutcomeSuccess, deed.OutcomeRefused, deed.OutcomeUnsent:
			count[item.Outcome]++
		default:
			count[deed.OutcomeUnknown]++
		}
	}
	out := deed.Outcome{Receipt: deed.Receipt{Items: items}}
	refused := len(items) - count[deed.OutcomeSuccess] - count[deed.OutcomeUnknown]
	switch {
	case len(items) == 0:
		out.Kind, out.Reason, out.Message = deed.OutcomeUnknown, deed.ReasonOutcomeUnknown, "the answer tells of no item"
	case count[deed.OutcomeUnknown] > 0:
		out.Kind, out.Reason = deed.OutcomeUnknown, deed.ReasonOutcomeUnknown
		out.Message = fmt.Sprintf("%d of %d items may have been accepted", count[deed.OutcomeUnknown], len(items))
	case count[deed.OutcomeSuccess] > 0:
		out.Kind = deed.OutcomeSuccess
		if refused > 0 {
			out.Message = fmt.Sprintf("%d of %d items were refused", refused, len(items))
		}
	case count[deed.OutcomeRefused] > 0:
		out.Kind, out.Reason, out.Final = deed.OutcomeRefused, deed.ReasonRefused, final
		out.Message = fmt.Sprintf("all %d items were refused", len(items))
	default:
		out.Kind, out.Reason, out.RetryAfter = deed.OutcomeUnsent, deed.ReasonNotSent, notSentRetry
		out.Message = "nothing was sent"
	}
	return out
}
