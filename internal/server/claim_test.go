// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// claimBody claims the refund of order 1042 under a token.
func claimBody(token string) string {
	return fmt.Sprintf(`{"key":%q,"tool":"pay/refund","arguments":{"order_id":"1042","amount":12},"meta":{"conversation":"c1"},"claim_token":%q}`, firstKey, token)
}

func (r *rig) claim(as, token string) api.ClaimAnswer {
	r.t.Helper()
	var granted api.ClaimAnswer
	r.do(request{as: as, method: "POST", path: "/v1/claims", body: claimBody(token)}).into(200, &granted)
	return granted
}

func (r *rig) settle(id deed.OperationID, body string) *response {
	r.t.Helper()
	return r.post("/v1/claims/"+string(id)+"/settle", body)
}

func TestTheSameClaimTokenGetsTheSameGrant(t *testing.T) {
	onEveryStore(t, nil, func(r *rig) {
		first := r.claim("agent", "job-7/1")
		if first.Decision != deed.Execute || first.Attempt != 1 || string(first.Arguments) != `{"order_id":"1042","amount":12}` {
			r.t.Fatalf("%+v", first)
		}
		if want := noon.Add(30 * time.Second); !first.SendBy.Equal(want) || !first.LeaseExpiresAt.Equal(want) {
			r.t.Errorf("send_by %s, lease until %s", first.SendBy, first.LeaseExpiresAt)
		}
		r.clock.Advance(5 * time.Second)
		r.restart()
		again := r.claim("agent", "job-7/1")
		if first.Regranted || !again.Regranted {
			r.t.Errorf("granted before: %t, then %t", first.Regranted, again.Regranted)
		}
		again.Regranted = false
		if diff := cmp.Diff(first, again, cmpopts.EquateApproxTime(0)); diff != "" {
			r.t.Errorf("the lost answer's repeat (-first +again):\n%s", diff)
		}
		p := r.post("/v1/claims", claimBody("job-8/1")).want(409, deed.InProgress, deed.ReasonLeaseLive)
		if p.RetryAfter != 25 || p.Title != "A request is outstanding for this key" {
			r.t.Errorf("%+v", p)
		}
		r.do(request{as: "reader", method: "POST", path: "/v1/claims", body: claimBody("job-7/1")}).want(409, deed.InProgress, deed.ReasonLeaseLive)
		r.do(request{as: "other", method: "POST", path: "/v1/claims", body: claimBody("job-7/1")}).want(403, deed.Denied, deed.ReasonNotYours)
	})
}

func TestAClaimIsSettledOnce(t *testing.T) {
	onEveryStore(t, nil, func(r *rig) {
		granted := r.claim("agent", "job-7/1")
		const success = `{"attempt":1,"outcome":"committed","receipt":{"remote_system":"pay","remote_id":"re_1"},"result":{"ok":true}}`
		var op api.Operation
		for range 2 {
			r.restart()
			r.settle(granted.OperationID, success).into(200, &op)
			if op.Status != deed.StatusCommitted || len(op.Receipts) != 1 || op.Receipt.RemoteID != "re_1" || op.Receipt.EstablishedBy != deed.ByReply {
				r.t.Fatalf("%+v", op)
			}
		}
		version := op.Version
		for name, body := range map[string]string{
			"a refusal":            `{"attempt":1,"outcome":"refused","message":"no such order"}`,
			"another remote id":    `{"attempt":1,"outcome":"committed","receipt":{"remote_id":"re_2"}}`,
			"nothing known":        `{"attempt":1,"outcome":"unknown"}`,
			"nothing was sent":     `{"attempt":1,"outcome":"not_sent"}`,
			"with the claim token": `{"attempt":1,"outcome":"refused","claim_token":"job-7/1"}`,
		} {
			p := r.settle(granted.OperationID, body).problem(409)
			if p.Type != api.ProblemPage+"#outcome-differs" || p.OperationStatus != deed.StatusCommitted || p.Operation.Version != version {
				r.t.Errorf("%s: %+v", name, p)
			}
		}
		var history api.Events
		r.get("agent", "/v1/operations/"+string(granted.OperationID)+"/events").into(200, &history)
		kept := 0
		for _, event := range history.Events {
			if event.Name == deed.Evidence {
				kept++
			}
		}
		if kept != 5 {
			r.t.Errorf("%d of 5 contradictions are kept as evidence: %+v", kept, history.Events)
		}
		var replay api.ClaimAnswer
		got := r.post("/v1/claims", claimBody("job-9/1")).into(200, &replay)
		if replay.Decision != deed.Replay || string(replay.Result) != `{"ok":true}` || replay.Operation.Receipt.RemoteID != "re_1" ||
			replay.Attempt != 0 || got.Header().Get("Idempotent-Replayed") != "true" {
			r.t.Errorf("%s", got.Body)
		}
	})
}

func TestWhatIsLearntLaterIsRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string
		code          int
		status        deed.Status
		retryable     bool
	}{
		"unknown, then a proof":       {`{"attempt":1,"outcome":"unknown"}`, `{"attempt":1,"outcome":"committed","receipt":{"remote_id":"re_1"}}`, 200, deed.StatusCommitted, false},
		"unknown, then a refusal":     {`{"attempt":1,"outcome":"unknown"}`, `{"attempt":1,"outcome":"refused","final":true}`, 200, deed.StatusFailed, false},
		"unknown, then not sent":      {`{"attempt":1,"outcome":"unknown"}`, `{"attempt":1,"outcome":"not_sent"}`, 200, deed.StatusFailed, true},
		"unknown twice":               {`{"attempt":1,"outcome":"unknown"}`, `{"attempt":1,"outcome":"unknown"}`, 200, deed.StatusUncertain, false},
		"refused twice":               {`{"attempt":1,"outcome":"refused"}`, `{"attempt":1,"outcome":"refused"}`, 200, deed.StatusFailed, true},
		"refused, then a proof":       {`{"attempt":1,"outcome":"refused"}`, `{"attempt":1,"outcome":"committed","receipt":{"remote_id":"re_1"}}`, 409, deed.StatusCommitted, false},
		"not sent, then refused":      {`{"attempt":1,"outcome":"not_sent"}`, `{"attempt":1,"outcome":"refused"}`, 409, deed.StatusFailed, true},
		"not sent, then nobody knows": {`{"attempt":1,"outcome":"not_sent"}`, `{"attempt":1,"outcome":"unknown"}`, 409, deed.StatusFailed, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			granted := r.claim("agent", "")
			var op api.Operation
			r.settle(granted.OperationID, c.first).into(200, &op)
			got := r.settle(granted.OperationID, c.second)
			if got.Code != c.code {
				t.Fatalf("HTTP %d: %s", got.Code, got.Body)
			}
			op = api.Operation{}
			r.get("agent", "/v1/operations/"+string(granted.OperationID)).into(200, &op)
			if op.Status != c.status || op.Retryable != c.retryable {
				t.Errorf("it is %s, retryable %v", op.Status, op.Retryable)
			}
		})
	}
}

func TestALostLeaseIsSettledAndClaimedAnew(t *testing.T) {
	onEveryStore(t, nil, func(r *rig) {
		granted := r.claim("agent", "job-7/1")
		path := "/v1/claims/" + string(granted.OperationID)
		r.clock.Advance(20 * time.Second)
		r.restart()
		var lease api.Lease
		r.post(path+"/renew", `{"attempt":1,"claim_token":"job-7/1"}`).into(200, &lease)
		if !lease.LeaseExpiresAt.Equal(noon.Add(50*time.Second)) || !lease.SendBy.Equal(granted.SendBy) {
			r.t.Errorf("%+v", lease)
		}
		r.clock.Advance(31 * time.Second)
		if p := r.post(path+"/renew", `{"attempt":1}`).problem(409); p.Type != api.ProblemPage+"#lease-lost" || p.OperationStatus != deed.StatusUncertain {
			r.t.Errorf("%+v", p)
		}
		p := r.post("/v1/claims", claimBody("job-7/1")).want(409, deed.Uncertain, deed.ReasonOutcomeUnknown)
		if p.OperationID != granted.OperationID || p.Operation.Attempt != 1 {
			r.t.Errorf("its caller is not told what to settle: %+v", p)
		}
		r.settle(granted.OperationID, `{"attempt":1,"outcome":"not_sent","claim_token":"job-7/1"}`).into(200, &api.Operation{})
		r.post("/v1/claims", claimBody("job-7/1")).want(422, deed.Failed, deed.ReasonRetryLater)
		r.clock.Advance(time.Second)
		if again := r.claim("agent", "job-7/1"); again.Attempt != 2 || again.OperationID != granted.OperationID {
			r.t.Errorf("%+v", again)
		}
		if p := r.settle(granted.OperationID, `{"attempt":1,"outcome":"committed","receipt":{"remote_id":"re_1"}}`).problem(409); p.Type != api.ProblemPage+"#outcome-differs" {
			r.t.Errorf("%+v", p)
		}
		r.settle(granted.OperationID, `{"attempt":2,"outcome":"unknown"}`).into(200, &api.Operation{})
		if p := r.post(path+"/renew", `{"attempt":1}`).problem(409); p.Type != api.ProblemPage+"#stale-attempt" {
			r.t.Errorf("%+v", p)
		}
		var op api.Operation
		r.get("agent", "/v1/operations/"+string(granted.OperationID)).into(200, &op)
		if op.Status != deed.StatusCommitted || op.Receipt.RemoteID != "re_1" || op.Receipt.Attempt != 1 {
			r.t.Errorf("a late proof is lost: %+v", op)
		}
	})
}

func TestAProofOfAnOldAttemptIsStaleAndKept(t *testing.T) {
	r := newRig(t, func(rule *deed.Rule) { rule.Effect = deed.EffectIdempotent })
	granted := r.claim("agent", "a")
	r.clock.Advance(31 * time.Second)
	if again := r.claim("agent", "b"); again.Attempt != 2 {
		t.Fatalf("%+v", again)
	}
	p := r.settle(granted.OperationID, `{"attempt":1,"outcome":"committed","receipt":{"remote_id":"re_1"}}`).problem(409)
	if p.Type != api.ProblemPage+"#stale-attempt" || p.OperationStatus != deed.StatusExecuting {
		t.Errorf("%+v", p)
	}
	var op api.Operation
	r.settle(granted.OperationID, `{"attempt":1,"outcome":"committed","receipt":{"remote_id":"re_1"}}`).into(200, &op)
	r.settle(granted.OperationID, `{"attempt":2,"outcome":"refused"}`).into(200, &op)
	if op.Status != deed.StatusCommitted || op.Receipt.RemoteID != "re_1" {
		t.Errorf("the proof did not win: %+v", op)
	}
}

func TestWhoMaySettleAClaim(t *testing.T) {
	r := newRig(t, nil)
	granted := r.claim("agent", "job-7/1")
	path := "/v1/claims/" + string(granted.OperationID)
	for name, c := range map[string]struct {
		as, path, body string
		code           int
	}{
		"another tenant":       {"stranger", path, `{"attempt":1,"outcome":"committed"}`, 404},
		"who may not see it":   {"other", path, `{"attempt":1,"outcome":"committed"}`, 404},
		"who only reads it":    {"reader", path, `{"attempt":1,"outcome":"committed"}`, 403},
		"another token":        {"agent", path, `{"attempt":1,"outcome":"committed","claim_token":"job-8/1"}`, 403},
		"no such attempt":      {"agent", path, `{"attempt":2,"outcome":"committed"}`, 404},
		"no attempt":           {"agent", path, `{"outcome":"committed"}`, 400},
		"no such operation":    {"agent", "/v1/claims/op_1", `{"attempt":1,"outcome":"committed"}`, 404},
		"no such outcome":      {"agent", path, `{"attempt":1,"outcome":"done"}`, 400},
		"a receipt of nothing": {"agent", path, `{"attempt":1,"outcome":"refused","receipt":{"remote_id":"x"}}`, 400},
		"a negative time":      {"agent", path, `{"attempt":1,"outcome":"refused","retry_after":-1}`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.do(request{as: c.as, method: http.MethodPost, path: c.path + "/settle", body: c.body}); got.Code != c.code {
				t.Errorf("HTTP %d, want %d: %s", got.Code, c.code, got.Body)
			}
		})
	}
	var op api.Operation
	r.get("agent", "/v1/operations/"+string(granted.OperationID)).into(200, &op)
	if op.Status != deed.StatusExecuting {
		t.Errorf("somebody else settled it: %s", op.Status)
	}
}

func TestClaimsThatCannotBeRead(t *testing.T) {
	r := newRig(t, nil)
	for name, body := range map[string]string{
		"no tool":                 `{"key":"refund:order-1042:first","arguments":{}}`,
		"a tool without a system": `{"key":"refund:order-1042:first","tool":"refund","arguments":{}}`,
		"no arguments":            `{"key":"refund:order-1042:first","tool":"pay/refund"}`,
		"arguments of a list":     `{"key":"refund:order-1042:first","tool":"pay/refund","arguments":[]}`,
		"key and derive":          `{"key":"refund:order-1042:first","derive":["tool"],"tool":"pay/refund","arguments":{}}`,
		"no such family":          `{"key":"refund:order-1042:first","family":"x","tool":"pay/refund","arguments":{}}`,
		"an unknown member":       `{"key":"refund:order-1042:first","tool":"pay/refund","arguments":{},"claimtoken":"x"}`,
		"another case":            `{"Key":"refund:order-1042:first","tool":"pay/refund","arguments":{}}`,
		"a member twice":          `{"key":"refund:order-1042:first","key":"refund:order-1042:other","tool":"pay/refund","arguments":{}}`,
		"an argument twice":       `{"key":"refund:order-1042:first","tool":"pay/refund","arguments":{"a":1,"a":2}}`,
		"a time that is none":     `{"key":"refund:order-1042:first","tool":"pay/refund","arguments":{},"expires_at":"tomorrow"}`,
		"a key of null":           `{"key":null,"derive":["/amount"],"tool":"pay/refund","arguments":{"amount":1}}`,
		"a fingerprint of null":   `{"key":"refund:order-1042:first","effect_fingerprint":null,"tool":"pay/refund","arguments":{}}`,
		"a deadline of null":      `{"key":"refund:order-1042:first","expires_at":null,"tool":"pay/refund","arguments":{}}`,
	} {
		t.Run(name, func(t *testing.T) { r.post("/v1/claims", body).want(400, deed.Denied, deed.ReasonBadArguments) })
	}
	r.post("/v1/claims", `{"tool":"pay/refund","arguments":{}}`).want(400, deed.Denied, deed.ReasonMissingOperationKey)
	r.post("/v1/claims", `{"key":"","derive":["/amount"],"tool":"pay/refund","arguments":{"amount":1}}`).want(400, deed.Denied, deed.ReasonBadKey)
	r.post("/v1/claims", `{"key":"short","tool":"pay/refund","arguments":{}}`).want(400, deed.Denied, deed.ReasonBadKey)
	r.do(request{method: "POST", path: "/v1/claims", key: "refund:order-1042:other", body: claimBody("")}).
		want(400, deed.Denied, deed.ReasonKeyCarriersDisagree)
	if granted := r.claim("agent", ""); granted.Decision != deed.Execute {
		t.Errorf("the key did not stay free: %+v", granted)
	}
}

func TestClaimsOfEveryFamilyAndDerivation(t *testing.T) {
	r := newRig(t, nil)
	body := func(name, value, order string) string {
		return fmt.Sprintf(`{%s,"tool":"pay/refund","arguments":{"order_id":%q},"meta":{"run":%q}}`, name, order, value)
	}
	var secret, creation, derived, again api.ClaimAnswer
	const confidential = "registration-key-of-thirty-two-characters"
	r.post("/v1/claims", body(`"key":"`+confidential+`","family":"secret"`, "r", "1")).into(200, &secret)
	if secret.Operation.Key != "" || secret.Operation.Family != deed.FamilySecret {
		t.Errorf("%+v", secret.Operation)
	}
	r.post("/v1/claims", body(`"key":"`+confidential+`","family":"creation"`, "r", "2")).into(200, &creation)
	if creation.Operation.Key != confidential || creation.OperationID == secret.OperationID {
		t.Errorf("%+v", creation.Operation)
	}
	r.post("/v1/claims", body(`"derive":["meta.run","/order_id"]`, "r1", "3")).into(200, &derived)
	if derived.Operation.Provenance != deed.ProvenanceDerived {
		t.Errorf("%+v", derived.Operation)
	}
	r.post("/v1/claims", body(`"derive":["meta.run","/order_id"]`, "r1", "3")).want(409, deed.InProgress, deed.ReasonLeaseLive)
	r.post("/v1/claims", body(`"derive":["meta.run","/order_id"]`, "r2", "4")).into(200, &again)
	r.post("/v1/claims", body(`"derive":["meta.step"]`, "r1", "5")).want(400, deed.Denied, deed.ReasonMissingOperationKey)
	r.do(request{method: "POST", path: "/v1/claims", key: firstKey, body: body(`"derive":["meta.run"]`, "r1", "6")}).want(400, deed.Denied, deed.ReasonBadArguments)
}

func TestWhatIsOnlyReadNeedsNoSettlement(t *testing.T) {
	r := newRig(t, func(rule *deed.Rule) { rule.Effect = deed.EffectReadOnly })
	granted := r.claim("agent", "")
	if granted.Decision != deed.Execute || granted.OperationID != "" || granted.Attempt != 0 || !granted.SendBy.IsZero() {
		t.Errorf("%+v", granted)
	}
}
