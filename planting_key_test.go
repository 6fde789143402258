// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

// providerKeyed is a tool whose provider remembers keys for an hour.
func providerKeyed(r *deed.Rule) {
	r.ProviderKey = &deed.ProviderKeyRule{Retention: time.Hour, Margin: time.Minute}
	r.GiveUp = 0
}

func TestTheSameBytesGoOutUnderTheSameProviderKey(t *testing.T) {
	d := newInDoubt(t, func(r *deed.Rule) {
		providerKeyed(r)
		r.Planting.Plant = func(arguments []byte, marks deed.Marks) ([]byte, error) {
			return append([]byte(`{"nonce":"`+marks.ProviderKey+`",`), arguments[1:]...), nil
		}
	})
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(d.grant.ProviderKey) {
		t.Errorf("provider key %q is no UUIDv4", d.grant.ProviderKey)
	}
	answer, grant := d.claim(d.start(d.clock), refund("12"))
	if grant == nil || answer.Decision != deed.Execute {
		t.Fatalf("%s(%s)", answer.Decision, answer.Reason)
	}
	if grant.ProviderKey != d.grant.ProviderKey || !bytes.Equal(grant.Arguments, d.grant.Arguments) || grant.Attempt != 2 {
		t.Errorf("attempt %d sends %s under %s, the first sent %s under %s", grant.Attempt, grant.Arguments, grant.ProviderKey, d.grant.Arguments, d.grant.ProviderKey)
	}
}

func TestTheRefusalOfARepresentationProvesNothing(t *testing.T) {
	d := newInDoubt(t, providerKeyed)
	_, second := d.claim(d.rt, refund("12"))
	answer := d.settle(d.rt, second, deed.Outcome{Kind: deed.OutcomeRefused, Final: true, Message: "idempotency_key_in_use"})
	if op := answer.Operation; op.Status != deed.StatusUncertain || op.Attempts[0].Cleared {
		t.Errorf("%s, the first attempt cleared: %v", op.Status, op.Attempts[0].Cleared)
	}
	_, third := d.claim(d.rt, refund("12"))
	if third == nil || third.ProviderKey != d.grant.ProviderKey {
		t.Fatal("the first attempt is still in doubt and its key still good")
	}
	d.settle(d.rt, third, success("re_1"))
	d.id = third.Operation
	d.wantStatus(deed.StatusCommitted, "")
}

func TestAProviderKeyIsNotPresentedPastItsRetention(t *testing.T) {
	for _, c := range []struct {
		name          string
		ledger, clock time.Duration
		want          bool
	}{
		{"in time", 58 * time.Minute, 58 * time.Minute, true},
		{"the attempt's lease would end inside the margin", 58*time.Minute + 31*time.Second, 58*time.Minute + 31*time.Second, false},
		{"late by the ledger's clock alone", 2 * time.Hour, time.Minute, false},
		{"late by the process's own clock alone", time.Minute, 2 * time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger, own := storetest.NewClock(noon), storetest.NewClock(noon)
			d := &inDoubt{rig: &rig{t: t, clock: own, store: storetest.NewMemory(ledger), rule: deed.DefaultRule("pay/refund")}}
			providerKeyed(&d.rule)
			d.rt = d.start(own)
			_, grant := d.claim(d.rt, refund("12"))
			d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
			ledger.Advance(c.ledger)
			own.Advance(c.clock)
			answer, again := d.claim(d.rt, refund("12"))
			if (again != nil) != c.want {
				t.Errorf("begun %v, want %v: %s(%s)", again != nil, c.want, answer.Decision, answer.Reason)
			}
		})
	}
}

func TestWithoutARetentionNothingIsPresentedAgain(t *testing.T) {
	d := newInDoubt(t, func(r *deed.Rule) { r.ProviderKey = &deed.ProviderKeyRule{} })
	d.want(d.do(refund("12")), deed.Uncertain, deed.ReasonOutcomeUnknown, 0)
}

func TestAnotherProviderKeyTakesAPersonsWord(t *testing.T) {
	d := newInDoubt(t, providerKeyed)
	d.resolve(deed.Resolution{Outcome: deed.ResolveNotApplied, NewProviderKey: true})
	d.clock.Advance(time.Second)
	_, second := d.claim(d.rt, refund("12"))
	if second == nil || second.ProviderKey == d.grant.ProviderKey || second.ProviderKey == "" {
		t.Fatalf("%+v", second)
	}
	d.settle(d.rt, second, deed.Outcome{Kind: deed.OutcomeUnknown})
	d.want(d.do(refund("12")), deed.Uncertain, deed.ReasonOutcomeUnknown, 0) // the first key is in doubt too
	d.resolve(deed.Resolution{Outcome: deed.ResolveNotApplied})
	d.clock.Advance(time.Second)
	_, third := d.claim(d.rt, refund("12"))
	if third == nil || third.ProviderKey != second.ProviderKey {
		t.Errorf("%+v", third)
	}
}

func TestANewProviderKeyIsRefusedWhereItCannotBe(t *testing.T) {
	ctx := context.Background()
	res := deed.Resolution{Outcome: deed.ResolveNotApplied, NewProviderKey: true, Reason: "stored a 500"}
	var refused *deed.RefusedError
	plain := newInDoubt(t, nil)
	if _, err := plain.rt.Resolve(ctx, operator, plain.id, res); !errors.As(err, &refused) {
		t.Errorf("sent without a key: %v", err)
	}
	inBytes := newInDoubt(t, func(r *deed.Rule) {
		providerKeyed(r)
		r.Planting.Plant = func(_ []byte, marks deed.Marks) ([]byte, error) {
			return []byte(`{"k":"` + marks.ProviderKey + `"}`), nil
		}
	})
	if _, err := inBytes.rt.Resolve(ctx, operator, inBytes.id, res); !errors.As(err, &refused) {
		t.Errorf("the key is part of the bytes: %v", err)
	}
	res.Outcome = deed.ResolveCommitted
	if _, err := plain.rt.Resolve(ctx, operator, plain.id, res); err == nil {
		t.Error("committed with a new key")
	}
}

// A wallet whose first settlement was applied and whose answer was lost
// (scenario G01): the same signed bytes go out again, and nothing is signed
// anew.
func TestAWalletPresentsTheSameSignedBytesAgain(t *testing.T) {
	settled := map[string]string{}
	signed := 0
	d := unsent(t, func(r *deed.Rule) {
		providerKeyed(r)
		r.Planting = &deed.Planting{Plant: func(_ []byte, marks deed.Marks) ([]byte, error) {
			signed++
			return []byte(`{"authorisation":"signed(` + marks.ProviderKey + `)"}`), nil
		}}
	})
	pay := func(g *deed.Grant) string {
		if settled[string(g.Arguments)] == "" {
			settled[string(g.Arguments)] = "goods"
		}
		return settled[string(g.Arguments)]
	}
	_, first := d.claim(d.rt, refund("12"))
	pay(first) // applied, and the answer is lost
	d.id = first.Operation
	d.settle(d.rt, first, deed.Outcome{Kind: deed.OutcomeUnknown})
	d.wantStatus(deed.StatusUncertain, deed.ReasonOutcomeUnknown)

	call, err := d.rt.CallOf(context.Background(), operator, d.id)
	if err != nil {
		t.Fatal(err)
	}
	answer, again := d.claim(d.rt, call)
	if again == nil {
		t.Fatalf("%s(%s) %s", answer.Decision, answer.Reason, answer.Text)
	}
	goods := pay(again)
	d.settle(d.rt, again, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "tx_1"}, Result: []byte(goods)})
	if len(settled) != 1 || signed != 1 {
		t.Errorf("%d settlements, %d signatures", len(settled), signed)
	}
	repeat := d.do(refund("12"))
	d.want(repeat, deed.Replay, deed.ReasonStored, 0)
	if string(repeat.Result) != "goods" {
		t.Errorf("replayed %s", repeat.Result)
	}
}
