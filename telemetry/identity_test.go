// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/telemetry"
	"github.com/google/go-cmp/cmp"
)

func TestTheKeyShownIsTheOneThatNamesTheCall(t *testing.T) {
	carrier := func(provenance deed.Provenance, key string) deed.Carrier {
		return deed.Carrier{Provenance: provenance, Identity: deed.OperationKey(key), Name: string(provenance)}
	}
	derived := deed.KeyRule{From: []string{"tool", "/order"}}
	for name, c := range map[string]struct {
		rule       deed.KeyRule
		carriers   []deed.Carrier
		provenance string
		key        string
	}{
		"the runtime's": {
			carriers:   []deed.Carrier{carrier(deed.ProvenanceModel, "model-key-of-16-chars"), carrier(deed.ProvenanceRuntime, "runtime-key-of-16-chars")},
			provenance: "runtime", key: "runtime-key-of-16-chars",
		},
		"the call's id before the model's": {
			carriers:   []deed.Carrier{carrier(deed.ProvenanceModel, "model-key-of-16-chars"), carrier(deed.ProvenanceCallID, "call-id-of-16-chars")},
			provenance: "call_id", key: "call-id-of-16-chars",
		},
		"the model's": {
			carriers:   []deed.Carrier{carrier(deed.ProvenanceModel, "model-key-of-16-chars")},
			provenance: "model", key: "model-key-of-16-chars",
		},
		"the rule's, whatever the model says": {
			rule:       derived,
			carriers:   []deed.Carrier{carrier(deed.ProvenanceModel, "model-key-of-16-chars")},
			provenance: "derived", key: "the operation's",
		},
		"the rule's alone": {rule: derived, provenance: "derived", key: "the operation's"},
		"nobody's":         {rule: deed.KeyRule{Need: deed.NeedOptional}, provenance: "none", key: "the operation's"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, telemetry.Options{Keys: telemetry.SecrecyRaw})
			rule := r.policy["pay/refund"]
			rule.Key = c.rule
			r.policy["pay/refund"] = rule
			call := callOf("pay/refund", "", `{"order":1001}`)
			call.Carriers = c.carriers
			answer := r.run(context.Background(), call, success("re_1"))
			if answer.Decision != deed.Execute {
				t.Fatalf("the call was answered with %s(%s): %s", answer.Decision, answer.Reason, answer.Text)
			}
			if c.key == "the operation's" {
				c.key = answer.Operation.Key.Text
			}
			attributes := show(nil, r.spans.GetSpans())[0].Attributes
			got := []any{attributes["agent.idempotency.provenance"], attributes["agent.idempotency.key"]}
			if diff := cmp.Diff([]any{c.provenance, c.key}, got); diff != "" {
				t.Errorf("provenance and key (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATwinsKeyIsNotShownAsTheCalls(t *testing.T) {
	r := newRig(t, telemetry.Options{Keys: telemetry.SecrecyRaw})
	call := callOf("pay/refund", "", `{"order":1001}`)
	call.Carriers = []deed.Carrier{{Provenance: deed.ProvenanceModel, Identity: deed.OperationKey("first-key-of-16-chars")}}
	r.run(context.Background(), call, success("re_1"))
	executed := r.only()
	call.Carriers = []deed.Carrier{{Provenance: deed.ProvenanceModel, Identity: deed.OperationKey("second-key-of-16-chars")}}
	answer := r.run(context.Background(), call, deed.Outcome{})
	if answer.Twin == "" {
		t.Fatalf("the equal call was answered with %s(%s), of no twin", answer.Decision, answer.Reason)
	}
	replayed := r.only()
	r.linksTo(replayed, executed.SpanContext)
	for _, attribute := range replayed.Attributes {
		if attribute.Key == "agent.idempotency.key" && attribute.Value.AsString() != "second-key-of-16-chars" {
			t.Errorf("the key shown is %s", attribute.Value.AsString())
		}
	}
}

func TestAnOldAttemptIsForgottenAndFoundInTheRecord(t *testing.T) {
	r := newRig(t, telemetry.Options{})
	rule := r.policy["pay/refund"]
	rule.Rate, rule.Repeat = deed.Limit{N: 1 << 20, Per: 1}, deed.Limit{N: 1 << 20, Per: 1}
	r.policy["pay/refund"] = rule
	ctx := context.Background()
	first := callOf("pay/refund", "refund-order-0000", `{"order":0}`)
	r.run(ctx, first, success("re_0"))
	executed := r.spans.GetSpans()[0]
	for i := 1; i <= 4096; i++ {
		r.run(ctx, callOf("pay/refund", fmt.Sprintf("refund-order-%04d", i), fmt.Sprintf(`{"order":%d}`, i)), success("re"))
	}
	r.spans.Reset()
	r.run(ctx, first, deed.Outcome{})
	r.linksTo(r.only(), executed.SpanContext)
}
