// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
)

// In observe mode a repeat runs although a record stands: what it is answered
// is about this run, and nothing of the record is passed off as its.
func TestARunThatIsOnlyObservedIsAnsweredAboutItself(t *testing.T) {
	lost := errors.New("connection reset")
	for _, c := range []struct {
		name          string
		first, second error
		wouldBe       deed.Decision
		result, text  string
	}{
		{"a success where the record is uncertain", lost, nil, deed.Uncertain, `{"id":"re_2"}`, ""},
		{"a failure where the record is committed", nil, lost, deed.Replay, "", "connection reset"},
		{"a success where the record is committed", nil, nil, deed.Replay, `{"id":"re_2"}`, ""},
		{"what was not sent", nil, deed.NotSent(lost), deed.Replay, "", "not sent: connection reset"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newRig(t, func(rule *deed.Rule) { rule.Mode = deed.ModeObserve })
			attempts := []deed.Attempt{}
			run := func(fails error) deed.Answer {
				return b.doing(refund("12"), func(ctx context.Context, attempt deed.Attempt) (deed.Receipt, error) {
					attempts = append(attempts, attempt)
					receipt, _ := b.pay(ctx, attempt)
					if fails != nil {
						return deed.Receipt{}, fails
					}
					return receipt, nil
				})
			}
			run(c.first)
			answer := run(c.second)
			if answer.Decision != deed.Execute || answer.WouldBe != c.wouldBe || answer.Operation != nil || answer.Effective != "" || answer.Done() || answer.Receipt() != nil {
				t.Errorf("%s, would be %s, of %v (%s)", answer.Decision, answer.WouldBe, answer.Operation, answer.Effective)
			}
			if string(answer.Result) != c.result || !strings.Contains(answer.Text, c.text) || c.text == "" && answer.Text != "" {
				t.Errorf("result %s, text %q", answer.Result, answer.Text)
			}
			if string(attempts[0].Arguments) != string(refund("12").Arguments) || attempts[0].Number != 1 {
				t.Errorf("the recorded run was given %+v", attempts[0])
			}
			second := attempts[1]
			if string(second.Arguments) != string(refund("12").Arguments) {
				t.Errorf("it was to send %s", second.Arguments)
			}
			if err := second.MaySend(); err != nil {
				t.Errorf("it might not send: %v", err)
			}
			second.Arguments, second.MaySend = nil, nil
			if diff := cmp.Diff(deed.Attempt{}, second); diff != "" {
				t.Errorf("it was given an attempt of another run: %s", diff)
			}
		})
	}
}
