// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// keyed is a refund whose identity came by the given carriers.
func keyed(amount string, carriers ...deed.Carrier) deed.Call {
	call := refund(amount)
	call.Key, call.Carriers = nil, carriers
	return call
}

func model(key string) deed.Carrier {
	return deed.Carrier{Provenance: deed.ProvenanceModel, Identity: deed.OperationKey(key), Name: "idempotency_key"}
}

func callID(id string) deed.Carrier {
	return deed.Carrier{Provenance: deed.ProvenanceCallID, Identity: deed.OperationKey(id), Name: "toolUseId"}
}

func runtime(key string) deed.Carrier {
	return deed.Carrier{Provenance: deed.ProvenanceRuntime, Identity: deed.OperationKey(key), Name: "Idempotency-Key"}
}

func TestKeysThatAreRefused(t *testing.T) {
	b := newRig(t, nil)
	for _, test := range []struct {
		name   string
		call   deed.Call
		reason deed.Reason
		text   string
	}{
		{"no key", keyed("1"), deed.ReasonMissingOperationKey, ""},
		{"too short", keyed("1", model("refund:1042")), deed.ReasonBadKey, "11 of at least 16 characters"},
		{"empty", keyed("1", model("")), deed.ReasonBadKey, "it is empty: send one of at least 16 characters, or leave it out"},
		{"too long", keyed("1", model(strings.Repeat("k", 256))), deed.ReasonBadKey, "256 of at most 255 characters"},
		{"a bad character", keyed("1", model("refund order-1042:first")), deed.ReasonBadKey, `character 7 (' ')`},
		{"two runtime carriers disagree", keyed("1", runtime("refund:order-1042:first"), runtime("refund:order-1042:second")), deed.ReasonKeyCarriersDisagree, "Idempotency-Key"},
		{"arguments that are not JSON", func() deed.Call { c := refund("1"); c.Arguments = []byte(`{"amount":`); return c }(), deed.ReasonBadArguments, ""},
		{"duplicate members", func() deed.Call { c := refund("1"); c.Arguments = []byte(`{"amount":1,"amount":2}`); return c }(), deed.ReasonBadArguments, "amount"},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := b.do(test.call)
			b.want(answer, deed.Denied, test.reason, 0)
			if !strings.Contains(answer.Text, test.text) {
				t.Errorf("text %q does not say %q", answer.Text, test.text)
			}
		})
	}
	page, err := b.rt.List(context.Background(), agent, deed.Query{})
	if err != nil || len(page.Operations) != 0 {
		t.Errorf("refused calls left %d operations, %v", len(page.Operations), err)
	}
}

// A gateway that names operations in a new way finds those of the old one.
func TestAnEarlierNameOfACarrierIsFoundAndGivenThePresentOne(t *testing.T) {
	b := newRig(t, nil)
	before, now := runtime("refund:order-1042:old"), runtime("refund:order-1042:new")
	b.want(b.do(keyed("1", before)), deed.Execute, "", 1)
	both := now
	both.Before = []deed.Identity{before.Identity}
	b.want(b.do(keyed("1", both)), deed.Replay, deed.ReasonStored, 1)
	b.want(b.do(keyed("1", now)), deed.Replay, deed.ReasonStored, 1)
	b.want(b.do(keyed("2", both)), deed.Conflict, deed.ReasonKeyReused, 1)

	fresh := runtime("refund:order-1043:new")
	fresh.Before = []deed.Identity{deed.OperationKey("refund:order-1043:old")}
	b.want(b.do(keyed("3", fresh)), deed.Execute, "", 2)
	b.want(b.do(keyed("3", runtime("refund:order-1043:old"))), deed.Replay, deed.ReasonStored, 2)
	fresh.Before = []deed.Identity{deed.OperationKey("short")}
	b.want(b.do(keyed("3", fresh)), deed.Denied, deed.ReasonBadKey, 2)
}

func TestRuntimeCarriersThatAgreeAreOneKey(t *testing.T) {
	b := newRig(t, nil)
	b.want(b.do(keyed("1", runtime(string(firstKey)), runtime(string(firstKey)))), deed.Execute, "", 1)
}

func TestCallIDAndModelKeyNameOneOperation(t *testing.T) {
	b := newRig(t, nil)
	b.want(b.do(keyed("1", callID("session-1/toolu_1"), model("refund:order-1042:first"))), deed.Execute, "", 1)
	b.want(b.do(keyed("1", callID("session-1/toolu_1"))), deed.Replay, deed.ReasonStored, 1)
	b.want(b.do(keyed("1", callID("session-1/toolu_2"), model("refund:order-1042:first"))), deed.Replay, deed.ReasonStored, 1)
	b.want(b.do(keyed("1", callID("session-1/toolu_2"))), deed.Replay, deed.ReasonStored, 1)
}

func TestModelKeysBelongToTheirActor(t *testing.T) {
	b := newRig(t, nil)
	b.want(b.do(keyed("1", model("refund:order-1042:first"))), deed.Execute, "", 1)
	other := keyed("2", model("refund:order-1042:first"))
	other.Principal.Actor = "another agent"
	b.want(b.do(other), deed.Execute, "", 2)
}

func TestARuntimeKeyOfAnotherActorIsNotYours(t *testing.T) {
	b := newRig(t, nil)
	b.do(refund("12"))
	other := refund("12")
	other.Principal.Actor = "another agent"
	answer := b.do(other)
	b.want(answer, deed.Denied, deed.ReasonNotYours, 1)
	if answer.Operation != nil || answer.Twin != "" {
		t.Error("the answer names somebody else's operation")
	}
	other.Principal.Rights = append(other.Principal.Rights, deed.RightRead)
	b.want(b.do(other), deed.Replay, deed.ReasonStored, 1)
}

func TestTenantsShareNothing(t *testing.T) {
	b := newRig(t, nil)
	first := b.do(refund("12"))
	other := refund("12")
	other.Principal.Tenant = "globex"
	b.want(b.do(other), deed.Execute, "", 2)
	if _, err := b.rt.Get(context.Background(), other.Principal, first.Operation.ID); err == nil {
		t.Error("one tenant read another's operation")
	}
}

func derived(rule *deed.Rule) {
	rule.Key = deed.KeyRule{From: []string{"tenant", "meta.run", "/order_id"}}
}

func inRun(run, amount string) deed.Call {
	call := keyed(amount, callID("session-1/"+run+amount))
	call.Meta = map[string]string{"run": run}
	return call
}

func TestDerivedKeys(t *testing.T) {
	b := newRig(t, derived)
	b.want(b.do(inRun("R1", "100")), deed.Execute, "", 1)
	b.want(b.do(inRun("R1", "100")), deed.Replay, deed.ReasonStored, 1)
	b.want(b.do(inRun("R1", "101")), deed.Conflict, deed.ReasonKeyReused, 1)
	second := b.do(inRun("R2", "100"))
	b.want(second, deed.Execute, "", 2)
	if second.SimilarTo == "" {
		t.Error("an equal effect under another run is not mentioned")
	}
	answer := b.do(keyed("100"))
	b.want(answer, deed.Denied, deed.ReasonMissingOperationKey, 2)
	if !strings.Contains(answer.Text, "meta.run") {
		t.Errorf("the missing part is not named: %s", answer.Text)
	}
}

// JSON, of which the key is made, has one letter for all that is not UTF-8.
func TestNoKeyIsDerivedFromAFactThatIsNotUTF8(t *testing.T) {
	b := newRig(t, derived)
	for _, run := range []string{"M\xfcller", "M\xf6ller"} {
		answer := b.do(inRun(run, "100"))
		b.want(answer, deed.Denied, deed.ReasonBadArguments, 0)
		if !strings.Contains(answer.Text, "meta.run") {
			t.Errorf("the part is not named: %s", answer.Text)
		}
	}
	b.want(b.do(inRun("Müller", "100")), deed.Execute, "", 1)
}

func TestDerivedKeysAreMadeOfNormalisedParts(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) {
		rule.Key = deed.KeyRule{From: []string{"tenant", "/to"}}
		rule.Fingerprint = deed.FingerprintRules{Normalize: map[string][]string{"/to": {"email_domain"}}}
		rule.Matter = []string{"/to"}
	})
	call := keyed("1")
	call.Arguments = []byte(`{"to":"ana@X.example"}`)
	b.want(b.do(call), deed.Execute, "", 1)
	call.Arguments = []byte(`{"to":"ana@x.example"}`)
	answer := b.do(call)
	b.want(answer, deed.Replay, deed.ReasonStored, 1)
	if answer.Operation.Matter != `["ana@x.example"]` {
		t.Errorf("matter %s", answer.Operation.Matter)
	}
}

func TestCorrectedArgumentsOpenTheNextGeneration(t *testing.T) {
	b := newRig(t, derived)
	_, grant := b.claim(b.rt, inRun("R1", "-5"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeRefused, Final: true, Message: "negative amount"})
	corrected := b.do(inRun("R1", "5"))
	b.want(corrected, deed.Execute, "", 1)
	if corrected.Operation.Supersedes != grant.Operation || corrected.Operation.Key.Generation != 2 {
		t.Errorf("supersedes %q, generation %d", corrected.Operation.Supersedes, corrected.Operation.Key.Generation)
	}
	b.want(b.do(inRun("R1", "5")), deed.Replay, deed.ReasonStored, 1)
	b.want(b.do(inRun("R1", "-5")), deed.Failed, deed.ReasonRefused, 1)
	b.want(b.do(inRun("R1", "6")), deed.Conflict, deed.ReasonKeyReused, 1)
}

func TestDerivedKeysAreOfTypedValues(t *testing.T) {
	for name, test := range map[string]struct {
		normalize map[string][]string
		text      deed.Decision
		sent      int64
	}{"as they stand": {nil, deed.Execute, 2}, "as decimals": {map[string][]string{"/order_id": {"decimal"}}, deed.Replay, 1}} {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, func(rule *deed.Rule) {
				rule.Key, rule.Fingerprint.Normalize = deed.KeyRule{From: []string{"/order_id"}}, test.normalize
			})
			call := func(order string) deed.Call {
				call := keyed("12")
				call.Arguments = []byte(`{"order_id":` + order + `}`)
				return call
			}
			b.want(b.do(call("1042")), deed.Execute, "", 1)
			b.want(b.do(call("1.042e3")), deed.Replay, deed.ReasonStored, 1)
			if answer := b.do(call(`"1042"`)); answer.Decision != test.text || b.effects.Load() != test.sent {
				t.Errorf("the text: %s, %d effects", answer.Decision, b.effects.Load())
			}
		})
	}
}

func TestAChangedDerivationFindsWhatTheOldOneBegan(t *testing.T) {
	b := newRig(t, derived)
	b.do(inRun("R1", "100"))
	b.rule.Key = deed.KeyRule{From: []string{"tenant", "/order_id"}, Before: [][]string{{"tenant", "meta.run", "/order_id"}}}
	b.rule.Revision = "2"
	b.rt = b.process()
	b.want(b.do(inRun("R1", "100")), deed.Replay, deed.ReasonStored, 1)
}

func TestRegistrationKeysNeverAppear(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) { rule.Identity = deed.FamilySecret })
	secret := strings.Repeat("s3cret", 8)
	call := refund("12")
	call.Key = deed.NewRegistrationKey(secret)
	first := b.do(call)
	b.want(first, deed.Execute, "", 1)
	replay := b.do(call)
	b.want(replay, deed.Replay, deed.ReasonResultDiscarded, 1)
	if text := fmt.Sprintf("%v %+v %#v %+v", call.Key, first.Operation, call.Key, replay.Operation.Receipt()); strings.Contains(text, secret) {
		t.Error("the registration key was printed")
	}
	call.Principal.Actor = "another agent"
	call.Principal.Rights = append(call.Principal.Rights, deed.RightRead)
	b.want(b.do(call), deed.Denied, deed.ReasonNotYours, 1)
	call = refund("12")
	call.Key = deed.NewRegistrationKey("short")
	b.want(b.do(call), deed.Denied, deed.ReasonBadKey, 1)
}

func TestFamiliesDoNotMix(t *testing.T) {
	b := newRig(t, nil)
	b.do(refund("12"))
	call := refund("13")
	call.Key = deed.CreationID(firstKey)
	b.want(b.do(call), deed.Execute, "", 2)
}

func TestAFreshModelKeyAfterALostAnswerGetsTheReceipt(t *testing.T) {
	b := newRig(t, nil)
	_, grant := b.claim(b.rt, keyed("12", model("refund:order-1042:first")))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_1"}, Result: []byte(`{}`)})
	answer := b.do(keyed("12", model("refund:order-1042:again")))
	b.want(answer, deed.Replay, deed.ReasonTwinUndelivered, 0)
	if answer.Twin != grant.Operation || string(answer.Result) != `{}` {
		t.Errorf("twin %q, result %s", answer.Twin, answer.Result)
	}
	b.want(b.do(keyed("12", model("refund:order-1042:third"))), deed.Execute, "", 1)
}

func TestModelKeysAgeOutOfTheirWindow(t *testing.T) {
	b := newRig(t, nil)
	b.do(keyed("12", model("refund:order-1042:first")))
	b.clock.Advance(25 * time.Hour)
	b.want(b.do(keyed("12", model("refund:order-1042:first"))), deed.Conflict, deed.ReasonKeyReusedAfterWindow, 1)
}

func TestRefusedContentUnderAFreshModelKeyIsHeld(t *testing.T) {
	b := newRig(t, nil)
	b.do(keyed("12", model("refund:order-1042:first")))
	b.want(b.do(keyed("13", model("refund:order-1042:first"))), deed.Conflict, deed.ReasonKeyReused, 1)
	b.want(b.do(keyed("13", model("refund:order-1042:renamed"))), deed.Denied, deed.ReasonConflictUnresolved, 1)
	b.want(b.do(keyed("13", runtime("refund:order-1042:by-runtime"))), deed.Execute, "", 2)
}

func TestAFreshKeyForAnUnresolvedEffectIsRefused(t *testing.T) {
	b := newRig(t, nil)
	_, grant := b.claim(b.rt, refund("12"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown, Message: "connection reset"})
	for _, carrier := range []deed.Carrier{runtime("refund:order-1042:other"), model("refund:order-1042:other"), callID("s/1")} {
		b.want(b.do(keyed("12", carrier)), deed.Uncertain, deed.ReasonTwinUnresolved, 0)
	}
	b.want(b.do(keyed("13", runtime("refund:order-1042:another"))), deed.Execute, "", 1)
}

func TestALowerKeyStaysWithItsOperationBesideATwin(t *testing.T) {
	b := newRig(t, nil)
	_, failed := b.claim(b.rt, keyed("12", model("refund:order-1042:first")))
	b.settle(b.rt, failed, deed.Outcome{Kind: deed.OutcomeRefused})
	b.clock.Advance(time.Second)
	_, lost := b.claim(b.rt, keyed("12", runtime("refund:order-1042:by-runtime")))
	b.settle(b.rt, lost, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.want(b.do(keyed("12", callID("session-1/toolu_1"), model("refund:order-1042:first"))), deed.Uncertain, deed.ReasonTwinUnresolved, 0)
	if _, err := b.rt.Resolve(context.Background(), deed.Principal{Tenant: "acme", Actor: "ana", Rights: []deed.Right{deed.RightRead, deed.RightResolve}},
		lost.Operation, deed.Resolution{Outcome: deed.ResolveAbandon, Reason: "nobody knows"}); err != nil {
		t.Fatal(err)
	}
	answer := b.do(keyed("12", callID("session-1/toolu_1")))
	b.want(answer, deed.Execute, "", 1)
	if answer.Operation.ID != failed.Operation {
		t.Errorf("the call id names %s, its model key named %s", answer.Operation.ID, failed.Operation)
	}
}
