// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// codes is docs/tables.md section 6, column HTTP, written out.
var codes = map[deed.Decision]map[int][]deed.Reason{
	deed.Replay:           {200: {"stored", "result_discarded", "joined", "twin_joined", "twin_undelivered", "twin_recent"}},
	deed.Conflict:         {422: {"idempotency_key_reused_with_different_effect", "key_reused_after_window", "input_differs"}},
	deed.InProgress:       {409: {"lease_live", "twin_executing", "awaiting_input"}},
	deed.AwaitingApproval: {202: {"pending", "twin_pending"}},
	deed.Uncertain:        {409: {"outcome_unknown", "tool_error", "found_many", "abandoned", "twin_unresolved"}},
	deed.Failed:           {422: {"not_sent", "refused", "absent", "resolved", "retry_later", "too_old"}},
	deed.Expired:          {410: {"never_ran"}},
	deed.Denied: {
		400: {"missing_operation_key", "bad_key", "key_carriers_disagree", "bad_arguments", "fingerprint_mismatch"},
		401: {"unauthenticated"},
		402: {"budget_exceeded"},
		403: {
			"forbidden", "not_yours", "by_person", "cancelled", "policy_changed", "quarantined", "revision_changed", "upstream_changed",
			"fingerprint_unverifiable", "conflict_unresolved", "twin_denied", "twin_pending", "twin_undelivered", "approval_invalid", "fenced",
		},
		429: {"loop", "rate"},
		503: {"store_unavailable", "policy_outdated"},
	},
}

func TestEveryDecisionHasItsCode(t *testing.T) {
	seen := map[deed.Decision][]deed.Reason{}
	for decision, rows := range codes {
		for code, reasons := range rows {
			seen[decision] = append(seen[decision], reasons...)
			for _, reason := range reasons {
				t.Run(fmt.Sprintf("%s %s is %d", decision, reason, code), func(t *testing.T) {
					r := newRig(t, nil)
					op := &deed.Operation{ID: "op_1", Tenant: "acme", Actor: "agent", Tool: tool, Key: deed.Key{Family: deed.FamilyOperation, Provenance: deed.ProvenanceRuntime}, Effect: deed.EffectNonIdempotent, Status: deed.StatusCommitted, CreatedAt: noon}
					r.tools.scripted = &deed.Answer{Decision: decision, Reason: reason, Operation: op, Effective: deed.StatusCommitted}
					got := r.call(firstKey, refund12)
					if code < 300 {
						var a api.CallAnswer
						got.into(code, &a)
						if a.Decision != decision || a.Reason != reason {
							t.Errorf("%s", got.Body)
						}
					} else {
						p := got.want(code, decision, reason)
						if p.OperationStatus != deed.StatusCommitted || p.OperationID != "op_1" {
							t.Errorf("the operation is not named: %s", got.Body)
						}
					}
					comesBack := decision == deed.InProgress || code == 429
					if has := got.Header().Get("Retry-After") != ""; has != comesBack {
						t.Errorf("Retry-After %q", got.Header().Get("Retry-After"))
					}
					if has := got.Header().Get("Location") == "/v1/operations/op_1"; has != (code == 202) {
						t.Errorf("Location %q", got.Header().Get("Location"))
					}
					if has := got.Header().Get("Idempotent-Replayed") == "true"; has != (decision == deed.Replay) {
						t.Errorf("Idempotent-Replayed %q", got.Header().Get("Idempotent-Replayed"))
					}
				})
			}
		}
	}
	for _, row := range deed.ReasonTable() {
		for _, reason := range row.Reasons {
			if !slices.Contains(seen[row.Decision], reason) {
				t.Errorf("%s(%s) has no test", row.Decision, reason)
			}
		}
	}
}

func TestAnAttemptIsAnsweredByItsOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		outcome *deed.Outcome
		code    int
		status  deed.Status
		reason  deed.Reason
	}{
		"success":         {nil, 200, deed.StatusCommitted, ""},
		"proved unsent":   {&deed.Outcome{Kind: deed.OutcomeUnsent, Reason: deed.ReasonNotSent}, 502, deed.StatusFailed, deed.ReasonNotSent},
		"refused":         {&deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, Final: true}, 422, deed.StatusFailed, deed.ReasonRefused},
		"an unclear end":  {&deed.Outcome{Kind: deed.OutcomeUnknown}, 409, deed.StatusUncertain, deed.ReasonOutcomeUnknown},
		"an error result": {&deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonToolError, Result: []byte(`{"isError":true}`)}, 409, deed.StatusUncertain, deed.ReasonToolError},
		"a question":      {&deed.Outcome{Kind: deed.OutcomeInputRequired, Result: []byte(`{"q":1}`)}, 409, deed.StatusAwaitingInput, deed.ReasonAwaitingInput},
		"a task":          {&deed.Outcome{Kind: deed.OutcomeTask, TaskID: "t"}, 409, deed.StatusExecuting, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.tools.outcome = c.outcome
			got := r.call(firstKey, refund12)
			if c.code == 200 {
				var a api.CallAnswer
				got.into(200, &a)
				if a.Decision != deed.Execute || a.Operation.Status != c.status || a.Operation.Receipt.RemoteID != "re_1" {
					t.Errorf("%s", got.Body)
				}
				return
			}
			p := got.want(c.code, deed.Execute, c.reason)
			if p.OperationStatus != c.status {
				t.Errorf("it is %s: %s", p.OperationStatus, got.Body)
			}
		})
	}
}

func TestARepeatIsReplayedForItsCaller(t *testing.T) {
	onEveryStore(t, nil, func(r *rig) {
		var first, again api.CallAnswer
		r.call(`"`+firstKey+`"`, refund12).into(200, &first)
		r.restart()
		got := r.call(firstKey, `{"arguments":{"amount":12.0,"order_id":"1042"}}`).into(200, &again)
		if again.Decision != deed.Replay || again.Reason != deed.ReasonStored || !again.Replayed() || got.Header().Get("Idempotent-Replayed") != "true" {
			t := r.t
			t.Errorf("%s", got.Body)
		}
		if compact(r.t, again.Result) != compact(r.t, first.Result) {
			r.t.Errorf("replayed %s, was %s", again.Result, first.Result)
		}
		if r.tools.effects.Load() != 0 {
			r.t.Error("a replay was sent")
		}
		r.do(request{as: "other", method: "POST", path: "/v1/tools/pay/refund/calls", key: firstKey, body: refund12}).
			want(403, deed.Denied, deed.ReasonNotYours)
		r.do(request{as: "reader", method: "POST", path: "/v1/tools/pay/refund/calls", key: firstKey, body: refund12}).into(200, &again)
		if again.Decision != deed.Replay {
			r.t.Errorf("who may read it is replayed to: %+v", again.Verdict)
		}
		p := r.call(firstKey, `{"arguments":{"order_id":"1042","amount":13}}`).want(422, deed.Conflict, deed.ReasonKeyReused)
		if p.ExistingRemoteID != "re_1" || p.ExistingFingerprint == p.ReceivedFingerprint || p.Operation != nil || p.Title != "Idempotency-Key is already used" {
			r.t.Errorf("%+v", p)
		}
	})
}

// The words name the carrier of the key, which is not always the header.
func TestAProblemOfAKeyThatNoHeaderCarriedDoesNotNameTheHeader(t *testing.T) {
	r := newRig(t, func(rule *deed.Rule) { rule.Key.From = []string{"meta.run", "/order_id"} })
	call := func(run, amount string) *response {
		return r.do(request{as: "agent", method: "POST", path: "/v1/tools/pay/refund/calls", body: `{"arguments":{"order_id":"1042","amount":` + amount + `},"meta":{` + run + `}}`})
	}
	p := call("", "12").want(400, deed.Denied, deed.ReasonMissingOperationKey)
	if p.Title != "The key cannot be derived" || !strings.Contains(p.Detail, "the key is derived from meta.run, which the call does not carry") {
		t.Errorf("%q: %q", p.Title, p.Detail)
	}
	if got := call(`"run":"r1"`, "12"); got.Code != 200 {
		t.Fatalf("%s", got.Body)
	}
	if p := call(`"run":"r1"`, "13").want(422, deed.Conflict, deed.ReasonKeyReused); p.Title != "The key is already used" {
		t.Errorf("%q", p.Title)
	}
	claim := func(more string) *response {
		return r.post("/v1/claims", `{"tool":"pay/refund","arguments":{"order_id":"1","amount":1},`+more+`}`)
	}
	if p := claim(`"key":"short"`).want(400, deed.Denied, deed.ReasonBadKey); p.Title != "The key has the wrong shape" {
		t.Errorf("%q", p.Title)
	}
}

func TestAnotherTenantsKeyIsAnotherKey(t *testing.T) {
	r := newRig(t, nil)
	var mine, theirs api.CallAnswer
	r.call(firstKey, refund12).into(200, &mine)
	r.do(request{as: "stranger", method: "POST", path: "/v1/tools/pay/refund/calls", key: firstKey, body: refund12}).into(200, &theirs)
	if theirs.Decision != deed.Execute || theirs.Operation.OperationID == mine.Operation.OperationID || theirs.SimilarTo != "" {
		t.Errorf("%+v", theirs)
	}
}

func TestTheEnvelopeReachesTheRuntime(t *testing.T) {
	r := newRig(t, nil)
	r.call(firstKey, `{"arguments":{},"effect_fingerprint":"sha256:00"}`).want(400, deed.Denied, deed.ReasonFingerprintMismatch)
	r.tools.outcome = &deed.Outcome{Kind: deed.OutcomeUnsent, Reason: deed.ReasonNotSent, RetryAfter: 30 * time.Second}
	p := r.call(firstKey, `{"arguments":{},"expires_at":"2026-01-02T12:00:40Z"}`).want(502, deed.Execute, deed.ReasonNotSent)
	if p.RetryAfter != 30 || !p.Operation.ExpiresAt.Equal(noon.Add(40*time.Second)) {
		t.Errorf("%+v", p)
	}
	if p = r.call(firstKey, `{"arguments":{}}`).want(422, deed.Failed, deed.ReasonRetryLater); p.RetryAfter != 30 {
		t.Errorf("%+v", p)
	}
	r.clock.Advance(time.Minute)
	r.call(firstKey, `{"arguments":{}}`).want(422, deed.Failed, deed.ReasonTooOld)
	if got := r.do(request{method: "POST", path: "/v1/tools/pay/unknown/calls", key: firstKey, body: refund12}); got.Code != http.StatusNotFound {
		t.Errorf("HTTP %d: %s", got.Code, got.Body)
	}
}

func TestResultsOfAnyKindAreAnswered(t *testing.T) {
	r := newRig(t, nil)
	r.tools.scripted = &deed.Answer{Decision: deed.Execute, Result: []byte("no\x00JSON")}
	var a api.CallAnswer
	r.call(firstKey, refund12).into(200, &a)
	if string(a.ResultBytes) != "no\x00JSON" || a.Result != nil {
		t.Errorf("%+v", a)
	}
	r.tools.scripted.Result = []byte(`{"html": "<b>", "n": 1e400}`)
	r.call(firstKey, refund12).into(200, &a)
	if want := `{"html":"<b>","n":1e400}`; string(a.Result) != want {
		t.Errorf("got %s", a.Result)
	}
	var raw map[string]json.RawMessage
	r.tools.scripted = &deed.Answer{Decision: deed.Execute, Reason: deed.ReasonNotSent}
	r.call(firstKey, refund12).want(502, deed.Execute, deed.ReasonNotSent)
	r.tools.scripted = &deed.Answer{Decision: deed.Execute, Reason: deed.ReasonRefused}
	r.call(firstKey, refund12).into(422, &raw)
	r.tools.scripted = &deed.Answer{Decision: deed.Execute, Reason: deed.ReasonOutcomeUnknown}
	r.call(firstKey, refund12).into(502, &raw)
}
