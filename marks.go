// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "errors"

type notSentError struct{ err error }

func (e notSentError) Error() string { return "not sent: " + e.err.Error() }
func (e notSentError) Unwrap() error { return e.err }

// NotSent marks an error of a function passed to [Runtime.Do] as proof that
// nothing left: the operation becomes failed and retryable. NotSent(nil) is an
// error that proves nothing and leaves the operation uncertain: whether a branch
// without an error is a success or a slip, nobody can tell.
//
// The mark may be wrapped once more (fmt.Errorf with one %w). Beside another
// error, in errors.Join or under several %w, it counts only if that one is
// marked as well: the other may be about something that did leave.
func NotSent(err error) error {
	if err == nil {
		return errors.New("deed.NotSent was given no error, which proves nothing")
	}
	return notSentError{err}
}

type refusedError struct{ err error }

func (e refusedError) Error() string { return "refused: " + e.err.Error() }
func (e refusedError) Unwrap() error { return e.err }

// Refused marks an error of a function passed to [Runtime.Do] as a definite
// refusal by the provider: the operation becomes failed, finally. Refused(nil)
// proves nothing, as NotSent(nil). Beside another error it counts as [NotSent]
// does, and of two that are marked one refusal makes it a refusal.
func Refused(err error) error {
	if err == nil {
		return errors.New("deed.Refused was given no error, which proves nothing")
	}
	return refusedError{err}
}

// markOf is what an error of a function proves: OutcomeUnsent or OutcomeRefused
// where every branch of its tree carries a mark, OutcomeUnknown otherwise. Of
// marks above each other the outermost counts.
func markOf(err error) OutcomeKind {
	switch err := err.(type) {
	case notSentError:
		return OutcomeUnsent
	case refusedError:
		return OutcomeRefused
	case interface{ Unwrap() error }:
		return markOf(err.Unwrap())
	case interface{ Unwrap() []error }:
		kind := OutcomeUnknown
		for _, branch := range err.Unwrap() {
			switch mark := markOf(branch); {
			case mark == OutcomeUnknown:
				return OutcomeUnknown
			case kind != OutcomeRefused:
				kind = mark
			}
		}
		return kind
	}
	return OutcomeUnknown
}
