// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/deed-run/deed"
)

// What a gateway's no means. Match with errors.Is; errors.As to a
// *[ProblemError] has the whole answer.
var (
	// ErrConflict: the key names another effect. Nothing was sent.
	ErrConflict = errors.New("key names another effect")
	// ErrInProgress: an attempt is live, or a question waits for its answer.
	// Nothing was sent by this call.
	ErrInProgress = errors.New("in progress")
	// ErrUncertain: it may have happened. Sending it again under another key may
	// do it twice.
	ErrUncertain = errors.New("outcome uncertain")
	// ErrFailed: it was not applied.
	ErrFailed = errors.New("failed")
	// ErrDenied: policy, approval, budget, key, loop or ledger said no.
	ErrDenied = errors.New("denied")
	// ErrExpired: it never ran and may not run any more.
	ErrExpired = errors.New("expired")
	// ErrNotFound: there is no such thing, or it is not the caller's to see.
	ErrNotFound = errors.New("not found")
	// ErrRefused: the operation does not permit it where it stands.
	ErrRefused = errors.New("refused where the operation stands")
	// ErrStale: another attempt is the current one, or the lease is lost.
	ErrStale = errors.New("attempt is not the current one")
	// ErrNoAnswer: the gateway's answer did not arrive. What was asked may have
	// happened; ask again with the same key or claim token.
	ErrNoAnswer = errors.New("no answer from the gateway")
)

// ProblemError is a problem that the gateway answered with.
type ProblemError struct {
	Problem Problem
}

func (e *ProblemError) Error() string {
	p := e.Problem
	text := fmt.Sprintf("deed: %s (HTTP %d)", p.Title, p.Status)
	if p.Decision != "" {
		text += fmt.Sprintf(": %s(%s)", p.Decision, p.Reason)
	}
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	return text
}

// Is reports whether the problem is of the kind that target names.
func (e *ProblemError) Is(target error) bool {
	p := e.Problem
	if p.Decision == deed.Execute {
		// The attempt was made; its operation tells what came of it.
		switch target {
		case ErrUncertain:
			return p.OperationStatus == deed.StatusUncertain
		case ErrFailed:
			return p.OperationStatus == deed.StatusFailed || p.OperationStatus == deed.StatusCancelled
		case ErrInProgress:
			return p.OperationStatus == deed.StatusExecuting || p.OperationStatus == deed.StatusAwaitingInput
		}
	}
	switch target {
	case ErrConflict:
		return p.Decision == deed.Conflict
	case ErrInProgress:
		return p.Decision == deed.InProgress
	case ErrUncertain:
		return p.Decision == deed.Uncertain
	case ErrFailed:
		return p.Decision == deed.Failed
	case ErrDenied:
		return p.Decision == deed.Denied
	case ErrExpired:
		return p.Decision == deed.Expired
	case ErrNotFound:
		return p.Status == http.StatusNotFound
	case ErrRefused:
		return p.is(TypeRefused) || p.is(TypeVersion) || p.is(TypeOutcomeDiffers)
	case ErrStale:
		return p.is(TypeStaleAttempt) || p.is(TypeLeaseLost)
	}
	return false
}

func (p Problem) is(kind string) bool { return p.Type == ProblemPage+"#"+kind }
