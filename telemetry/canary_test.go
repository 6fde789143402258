// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/telemetry"
)

const canary = "canary"

// secretive makes calls in which everything that must stay in the ledger
// contains the canary, and returns all that was exported.
func secretive(t *testing.T, opts telemetry.Options) string {
	t.Helper()
	r := newRig(t, opts)
	ctx := context.Background()
	keyed := func(key deed.Identity, order int) deed.Call {
		call := callOf("pay/refund", "", fmt.Sprintf(`{"order":%d,"email":"canary@example.com"}`, order))
		call.Key = key
		call.Principal.Tenant, call.Principal.Actor = "canary-tenant", "canary-actor"
		call.Meta = map[string]string{"conversation": "canary-conversation"}
		return call
	}
	upstream := func(kind deed.OutcomeKind) deed.Outcome {
		return deed.Outcome{
			Kind: kind, Message: "invalid address canary@example.com",
			Result: []byte(`{"content":"canary"}`), ResultIsError: kind != deed.OutcomeSuccess,
			Receipt: deed.Receipt{RemoteSystem: "pay", RemoteURL: "https://pay.example/canary", RemoteID: "re_1"},
		}
	}
	for i, kind := range []deed.OutcomeKind{deed.OutcomeSuccess, deed.OutcomeRefused, deed.OutcomeUnknown, deed.OutcomeUnsent} {
		call := keyed(deed.OperationKey(fmt.Sprintf("canary-operation-key-%d", i)), i)
		r.run(ctx, call, upstream(kind))
		r.run(ctx, call, upstream(kind))
		r.run(ctx, keyed(call.Key, 100+i), upstream(kind))
	}
	denied := keyed(deed.OperationKey("canary too short"), 7)
	denied.Validate = func([]byte) string { return "canary is no order" }
	r.run(ctx, denied, deed.Outcome{})
	secret := keyed(deed.NewRegistrationKey("canary-canary-canary-canary-canary-canary"), 9)
	rule := r.policy["pay/refund"]
	rule.Identity = deed.FamilySecret
	r.policy["pay/refund"] = rule
	hidden := upstream(deed.OutcomeSuccess)
	hidden.Receipt.RemoteID = "canary-capability"
	r.run(ctx, secret, hidden)
	if answer := r.run(ctx, secret, hidden); answer.Decision != deed.Replay {
		t.Fatalf("the confidential registration was answered with %s(%s), not replayed", answer.Decision, answer.Reason)
	}

	var all strings.Builder
	for _, span := range r.spans.GetSpans() {
		fmt.Fprintf(&all, "%+v\n", span)
	}
	metrics, err := json.Marshal(r.collect())
	if err != nil {
		t.Fatal(err)
	}
	all.Write(metrics)
	for _, m := range r.collect() {
		for _, p := range points(t, m) {
			fmt.Fprintf(&all, "%v\n", p.labels.ToSlice())
		}
	}
	if !strings.Contains(all.String(), "re_1") {
		t.Fatal("the export has no remote id: nothing was looked at")
	}
	return all.String()
}

func TestArgumentsKeysTextsAndPrincipalsAreNotExported(t *testing.T) {
	for _, secrecy := range []telemetry.Secrecy{telemetry.SecrecyHash, telemetry.SecrecyOff} {
		t.Run(string(secrecy), func(t *testing.T) {
			exported := secretive(t, telemetry.Options{Keys: secrecy, Secret: []byte("canary secret")})
			if at := strings.Index(exported, canary); at >= 0 {
				t.Errorf("exported: …%s…", exported[max(0, at-80):min(len(exported), at+80)])
			}
		})
	}
}

func TestRawKeysAreExportedOnlyWhenAskedForAndNeverConfidentialOnes(t *testing.T) {
	exported := secretive(t, telemetry.Options{Keys: telemetry.SecrecyRaw})
	for i := range 4 {
		key := fmt.Sprintf("canary-operation-key-%d", i)
		if !strings.Contains(exported, key) {
			t.Errorf("%s was asked for and is not there", key)
		}
		exported = strings.ReplaceAll(exported, key, "")
	}
	exported = strings.ReplaceAll(exported, "canary too short", "")
	if at := strings.Index(exported, canary); at >= 0 {
		t.Errorf("exported: …%s…", exported[max(0, at-80):min(len(exported), at+80)])
	}
}

func TestRemoteIDsOfAToolCanBeHidden(t *testing.T) {
	r := newRig(t, telemetry.Options{HideRemoteID: func(tool deed.Tool) bool { return tool == "pay/refund" }})
	r.run(context.Background(), callOf("pay/refund", "refund-order-1001", `{"order":1001}`), success("re_1"))
	span := show(nil, r.spans.GetSpans())[0]
	if id, shown := span.Attributes["agent.idempotency.receipt.remote_id"]; shown {
		t.Errorf("the remote id %v is shown", id)
	}
}

func TestLongNamesAreCut(t *testing.T) {
	r := newRig(t, telemetry.Options{})
	tool := deed.Tool("x/" + strings.Repeat("ä", 5000))
	r.run(context.Background(), callOf(tool, "", `{}`), deed.Outcome{})
	span := show(nil, r.spans.GetSpans())[0]
	if span.Name != "tools/call _other" {
		t.Errorf("the span's name is %.40q…", span.Name)
	}
	if name := span.Attributes["gen_ai.tool.name"].(string); len(name) > 200 || strings.ContainsRune(name, '\uFFFD') {
		t.Errorf("gen_ai.tool.name has %d bytes", len(name))
	}
}
