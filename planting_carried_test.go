// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// The rule of a tool is given marks when a call of it is frozen already.
func TestMarksThatASnapshotLacksAreNotMissed(t *testing.T) {
	for name, waits := range map[string]bool{"a retry": false, "an approved proposal": true} {
		t.Run(name, func(t *testing.T) {
			d := unsent(t, func(r *deed.Rule) {
				r.Planting = nil
				if waits {
					r.Approval = &deed.ApprovalRule{OnCall: true}
				}
			})
			answer, grant := d.claim(d.rt, refund("12"))
			if waits {
				d.id = answer.Operation.ID
				consent := deed.Consent{Digest: d.op().Approval.Digest}
				if _, err := d.rt.Approve(context.Background(), person("alice"), d.id, consent); err != nil {
					t.Fatal(err)
				}
			} else {
				d.id = grant.Operation
				d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeUnsent})
			}
			d.clock.Advance(2 * time.Second)
			d.rule.Planting = &deed.Planting{Plant: plantMark}
			d.rt = d.start(d.clock)
			_, grant = d.claim(d.rt, refund("12"))
			if grant == nil || grant.Marks != (deed.Marks{}) {
				t.Fatalf("its bytes lack the marks that are told of it: %+v", grant)
			}
			d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
			d.answer = nothing
			for range 3 {
				d.clock.Advance(10 * time.Minute)
				d.look()
			}
			d.wantStatus(deed.StatusUncertain, deed.ReasonOutcomeUnknown)
			d.want(d.do(refund("12")), deed.Uncertain, deed.ReasonOutcomeUnknown, 0)
		})
	}
}

func TestAProviderKeyIsPresentedAgainWhereItWasOnly(t *testing.T) {
	inBytes := func(arguments []byte, marks deed.Marks) ([]byte, error) {
		return append([]byte(`{"key":"`+marks.ProviderKey+`",`), arguments[1:]...), nil
	}
	for _, test := range []struct {
		name        string
		first, then string
		firstBytes  bool
		thenBytes   bool
		want        bool
	}{
		{"in the same header", "header a", "header a", false, false, true},
		{"in another header", "header a", "header b", false, false, false},
		{"in the bytes as before", "", "", true, true, true},
		{"in bytes that were frozen without it", "", "", false, true, false},
		{"in the bytes where it was in a header", "header a", "into /key", false, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			configure := func(r *deed.Rule, place string, bytes bool) {
				r.ProviderKey, r.Planting = &deed.ProviderKeyRule{Retention: time.Hour, Margin: time.Minute, Place: place}, nil
				if bytes {
					r.Planting = &deed.Planting{Plant: inBytes}
				}
			}
			d := unsent(t, func(r *deed.Rule) { configure(r, test.first, test.firstBytes) })
			_, grant := d.claim(d.rt, refund("12"))
			d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
			configure(&d.rule, test.then, test.thenBytes)
			answer, again := d.claim(d.start(d.clock), refund("12"))
			if (again != nil) != test.want {
				t.Errorf("sent again %v, want %v: %s(%s)", again != nil, test.want, answer.Decision, answer.Reason)
			}
		})
	}
}

// A retry of what provably was not sent goes out without the key that its bytes
// lack, so that its repeat is not taken for one under a key.
func TestARetryWithoutItsKeyIsNotPresentedAgain(t *testing.T) {
	d := unsent(t, func(r *deed.Rule) { r.Planting = nil })
	_, grant := d.claim(d.rt, refund("12"))
	d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeUnsent})
	d.clock.Advance(2 * time.Second)
	d.rule.ProviderKey = &deed.ProviderKeyRule{Retention: time.Hour, Margin: time.Minute}
	d.rule.Planting = &deed.Planting{Plant: func(arguments []byte, marks deed.Marks) ([]byte, error) {
		return append([]byte(`{"key":"`+marks.ProviderKey+`",`), arguments[1:]...), nil
	}}
	d.rt = d.start(d.clock)
	_, grant = d.claim(d.rt, refund("12"))
	d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
	d.want(d.do(refund("12")), deed.Uncertain, deed.ReasonOutcomeUnknown, 0)
}
