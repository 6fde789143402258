// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"time"

	"github.com/deed-run/deed"
)

// standingOf is the column's meaning; the schema checks that they agree.
func standingOf(op *deed.Operation) int16 {
	switch op.State() {
	case deed.StateCommitted:
		if op.Delivered() {
			return 1
		}
	case deed.StateFailedRetryable, deed.StateFailedFinal:
		return 2
	case deed.StateDenied:
		return 3
	case deed.StateCancelled:
		return 4
	case deed.StateExpired:
		return 5
	case deed.StateAbandoned:
		return 6
	}
	return 0
}

// unresolved: executing, awaiting input, or uncertain and not abandoned, as
// stored.
func unresolved(op *deed.Operation) bool {
	switch op.State() {
	case deed.StateExecuting, deed.StateAwaitingInput, deed.StateUncertain:
		return true
	}
	return false
}

// trimmable reports whether retention may ever remove what the operation
// carries.
func trimmable(op *deed.Operation) bool {
	if op.RetainUntil.IsZero() {
		return false
	}
	switch op.State() {
	case deed.StateCommitted, deed.StateFailedFinal, deed.StateDenied, deed.StateCancelled, deed.StateExpired:
		return true
	}
	return false
}

// begunAt is when the latest attempt began.
func begunAt(op *deed.Operation) time.Time {
	if a := op.Current(); a != nil {
		return a.BegunAt
	}
	return time.Time{}
}
