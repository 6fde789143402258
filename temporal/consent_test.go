// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

func TestAnActivityWaitsForConsentAndRunsWhatWasAgreedTo(t *testing.T) {
	for name, c := range map[string]struct {
		decide func(*bench, *deed.Operation) error
		want   []refund
		told   string
	}{
		"approved": {
			decide: func(b *bench, op *deed.Operation) error {
				_, err := b.rt.Approve(context.Background(), operator, op.ID, deed.Consent{Digest: op.Approval.Digest, Reason: "promised"})
				return err
			},
			want: []refund{order},
		},
		"edited": {
			decide: func(b *bench, op *deed.Operation) error {
				_, err := b.rt.EditAndApprove(context.Background(), operator, op.ID, op.Approval.Digest, []byte(`{"order":"1042","amount":6}`), "half is enough")
				return err
			},
			want: []refund{{Order: "1042", Amount: 6}},
		},
		"edited into what the Activity cannot take": {
			decide: func(b *bench, op *deed.Operation) error {
				_, err := b.rt.EditAndApprove(context.Background(), operator, op.ID, op.Approval.Digest, []byte(`{"order":"1042","amount":"six"}`), "half is enough")
				return err
			},
			told: "argument 1 as it was frozen",
		},
		"denied": {
			decide: func(b *bench, op *deed.Operation) error {
				_, err := b.rt.Deny(context.Background(), operator, op.ID, deed.Consent{Digest: op.Approval.Digest, Reason: "too much"})
				return err
			},
			told: "too much",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, p := newBench(t), &payments{}
			b.rule(func(r *deed.Rule) { r.Approval = &deed.ApprovalRule{OnCall: true} })
			env := b.workflow(p)
			env.RegisterDelayedCallback(func() {
				if err := c.decide(b, b.only()); err != nil {
					t.Error(err)
				}
			}, 10*time.Minute)
			env.ExecuteWorkflow(refundOnce, order)
			p.want(t, c.want...)
			if len(c.want) == 0 {
				if told, _ := report(t, env); !strings.Contains(told.Text, c.told) {
					t.Errorf("the Workflow was told %+v", told)
				}
				return
			}
			if done := result(t, env); done.Amount != c.want[0].Amount {
				t.Errorf("the Workflow got %+v", done)
			}
		})
	}
}
