// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"fmt"
	"time"

	"github.com/deed-run/deed"
)

// waiting speaks of an operation that a person must approve.
func (s situation) waiting() wording {
	until := "it is decided"
	if op := s.answer.Operation; op != nil && op.Approval != nil {
		until = stamp(op.Approval.ExpiresAt)
	}
	then := "After approval call again with " + s.newAction("the same key", "the same arguments") + "."
	if op := s.answer.Operation; s.runs && op != nil && op.Approval != nil && op.Approval.Run == deed.RunOnApproval {
		then = "It runs by itself once approved."
	}
	return wording{
		Text: sentences(fmt.Sprintf("Not done yet and not an error: a person must approve exactly this action, until %s. Nothing was sent. Keep %s; a change needs a new approval. Tell the user it is waiting as %s.", until, s.newAction("key and arguments", "the arguments"), s.id),
			then, fmt.Sprintf("Ask at most every %d min; ending your turn loses nothing.", s.patience()/time.Minute)),
		Next: nextWait, Say: "It waits for a person's approval.",
	}
}

// askApproval is how often it makes sense to ask whether a person has decided, where the proposal does not say.
const askApproval = 10 * time.Minute

// patience is how long a model should leave a person alone, in whole minutes: less where the time to decide is short.
func (s situation) patience() time.Duration {
	op := s.answer.Operation
	if op == nil || op.Approval == nil {
		return askApproval
	}
	usual := time.Duration(op.Approval.AskAgain) * time.Second
	if usual <= 0 {
		usual = askApproval
	}
	left := op.Approval.ExpiresAt.Sub(s.answer.At) / 4
	return max(min(left, usual).Truncate(time.Minute), time.Minute)
}

// overdrawn speaks of a budget that has no room for the call.
func (s situation) overdrawn() string {
	b := s.answer.Budget
	if b == nil {
		return fmt.Sprintf("Not sent: it does not fit the budget: %s. Do not split the amount.", s.why())
	}
	return fmt.Sprintf("Not sent: %s %s does not fit budget %s (%s left, %s held by unconfirmed operations). Do not split the amount. Tell the user.",
		b.Amount, plain(b.Currency, 10), plain(b.Budget, 40), max(0, b.Left), b.Held)
}
