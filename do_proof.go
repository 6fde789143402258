// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "errors"

type proofUnsent struct{ err error }

func (e proofUnsent) Error() string { return "not sent: " + e.err.Error() }
func (e proofUnsent) Unwrap() error { return e.err }

// NotSent makes an error of a function passed to [Runtime.Do] the proof that
// nothing left: the operation becomes failed and retryable. NotSent(nil) is an
// error that proves nothing and leaves the operation uncertain: whether a branch
// without an error is a success or a slip, nobody can tell.
//
// The proof may be wrapped once more (fmt.Errorf with one %w). Beside another
// error, in errors.Join or under several %w, it counts only if that one is a
// proof as well: the other may be about something that did leave.
func NotSent(err error) error {
	if err == nil {
		return errors.New("deed.NotSent was given no error, which proves nothing")
	}
	return proofUnsent{err}
}

type proofRefused struct{ err error }

func (e proofRefused) Error() string { return "refused: " + e.err.Error() }
func (e proofRefused) Unwrap() error { return e.err }

// Refused makes an error of a function passed to [Runtime.Do] a definite
// refusal by the provider: the operation becomes failed, finally. Refused(nil)
// proves nothing, as NotSent(nil). Beside another error it counts as [NotSent]
// does, and of two proofs one refusal makes it a refusal.
func Refused(err error) error {
	if err == nil {
		return errors.New("deed.Refused was given no error, which proves nothing")
	}
	return proofRefused{err}
}

// provedBy is what an error of a function proves: OutcomeUnsent or OutcomeRefused
// where every branch of its tree carries a proof, OutcomeUnknown otherwise. Of
// proofs above each other the outermost counts.
func provedBy(err error) OutcomeKind {
	switch err := err.(type) {
	case proofUnsent:
		return OutcomeUnsent
	case proofRefused:
		return OutcomeRefused
	case interface{ Unwrap() error }:
		return provedBy(err.Unwrap())
	case interface{ Unwrap() []error }:
		kind := OutcomeUnknown
		for _, branch := range err.Unwrap() {
			switch proved := provedBy(branch); {
			case proved == OutcomeUnknown:
				return OutcomeUnknown
			case kind != OutcomeRefused:
				kind = proved
			}
		}
		return kind
	}
	return OutcomeUnknown
}
