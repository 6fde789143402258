// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// hollow is a tree of errors that holds none.
type hollow struct{}

func (hollow) Error() string   { return "nothing" }
func (hollow) Unwrap() []error { return nil }

// A proof counts only for the whole of what a function did: beside an error
// that carries none something may have left.
func TestAProofCountsOnlyWhereNoOtherErrorStandsBesideIt(t *testing.T) {
	boom, timeout := errors.New("connection refused"), errors.New("timeout after the last byte")
	unsent, refused := deed.NotSent(boom), deed.Refused(boom)
	for _, c := range []struct {
		name string
		err  error
		want deed.Reason
	}{
		{"a proof", unsent, deed.ReasonNotSent},
		{"context around a proof", fmt.Errorf("pay: %w", fmt.Errorf("send: %w", unsent)), deed.ReasonNotSent},
		{"context around a refusal", fmt.Errorf("pay: %w", refused), deed.ReasonRefused},
		{"a proof joined with another error", errors.Join(unsent, timeout), deed.ReasonOutcomeUnknown},
		{"another error joined with a proof", errors.Join(timeout, unsent), deed.ReasonOutcomeUnknown},
		{"a refusal joined with another error", errors.Join(refused, timeout), deed.ReasonOutcomeUnknown},
		{"a proof and another error in one text", fmt.Errorf("first: %w, second: %w", unsent, timeout), deed.ReasonOutcomeUnknown},
		{"another error deep beside a proof", fmt.Errorf("pay: %w", errors.Join(unsent, fmt.Errorf("twice: %w", errors.Join(unsent, timeout)))), deed.ReasonOutcomeUnknown},
		{"two proofs", errors.Join(unsent, unsent), deed.ReasonNotSent},
		{"one of two was refused", errors.Join(unsent, refused), deed.ReasonRefused},
		{"the first of two was refused", errors.Join(refused, fmt.Errorf("then: %w", unsent)), deed.ReasonRefused},
		{"a proof around a join", deed.NotSent(errors.Join(boom, timeout)), deed.ReasonNotSent},
		{"the outermost of two marks", deed.Refused(unsent), deed.ReasonRefused},
		{"not sent, without an error", deed.NotSent(nil), deed.ReasonOutcomeUnknown},
		{"refused, without an error", deed.Refused(nil), deed.ReasonOutcomeUnknown},
		{"a join with a tree that holds nothing", errors.Join(unsent, hollow{}), deed.ReasonOutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newRig(t, nil)
			fails := func(context.Context, deed.Attempt) (deed.Receipt, error) { return deed.Receipt{}, c.err }
			answer := b.doing(refund("12"), fails)
			if answer.Operation.Reason != c.want {
				t.Fatalf("%v is taken as %s(%s), want %s", c.err, answer.Operation.Status, answer.Operation.Reason, c.want)
			}
			b.clock.Advance(2 * time.Second)
			again := int64(0)
			if c.want == deed.ReasonNotSent {
				again = 1
			}
			if b.do(refund("12")); b.effects.Load() != again {
				t.Errorf("the repeat had %d effects, want %d", b.effects.Load(), again)
			}
		})
	}
}
