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

// A model's key that came beside a known call id names the operation from then on
// (docs/tables.md section 3, rule 2).
func TestAModelKeyBesideAKnownCallIDBecomesItsAlias(t *testing.T) {
	b := newRig(t, nil)
	b.want(b.do(keyed("1", callID("session-1/toolu_1"), model("refund:order-1042:first"))), deed.Execute, "", 1)
	b.want(b.do(keyed("1", callID("session-1/toolu_1"), model("refund:order-1042:again"))), deed.Replay, deed.ReasonStored, 1)
	b.want(b.do(keyed("1", model("refund:order-1042:again"))), deed.Replay, deed.ReasonStored, 1)
	b.want(b.do(keyed("1", model("refund:order-1042:first"))), deed.Replay, deed.ReasonStored, 1)
}

func TestAModelKeyBesideAKnownCallIDStaysWhatItIs(t *testing.T) {
	b := newRig(t, nil)
	b.want(b.do(keyed("1", callID("session-1/toolu_1"), model("refund:order-1042:first"))), deed.Execute, "", 1)
	b.want(b.do(keyed("2", model("refund:order-2000:first"))), deed.Execute, "", 2)
	// It names another operation already.
	b.want(b.do(keyed("1", callID("session-1/toolu_1"), model("refund:order-2000:first"))), deed.Replay, deed.ReasonStored, 2)
	b.want(b.do(keyed("2", model("refund:order-2000:first"))), deed.Replay, deed.ReasonStored, 2)
	// It came with other arguments: it may mean another action, and names it later.
	b.want(b.do(keyed("3", callID("session-1/toolu_1"), model("refund:order-3000:first"))), deed.Conflict, deed.ReasonKeyReused, 2)
	b.want(b.do(keyed("4", model("refund:order-3000:first"))), deed.Execute, "", 3)
}

// twoNames are what two equal calls of one action may come with.
var twoNames = map[string][2]deed.Carrier{
	"keys of a model": {model("refund:order-1042:first"), model("refund:order-1042:again")},
	"call ids":        {callID("session-1/toolu_1"), callID("session-1/toolu_2")},
}

// A call that was answered with the receipt of an equal one has been answered: the
// same call once more, because that answer was lost on its way, is its repeat and
// no second action. Other keys and other arguments are what they were.
func TestAKeyThatWasAnsweredWithATwinsReceiptNamesTheTwin(t *testing.T) {
	for name, own := range twoNames {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, nil)
			_, grant := b.claim(b.rt, keyed("1", own[0]))
			b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_1"}, Result: []byte(`{}`)})
			b.want(b.do(keyed("1", own[1])), deed.Replay, deed.ReasonTwinUndelivered, 0)
			for range 3 {
				b.want(b.do(keyed("1", own[1])), deed.Replay, deed.ReasonStored, 0)
			}
			b.want(b.do(keyed("2", own[1])), deed.Conflict, deed.ReasonKeyReused, 0)
			b.want(b.do(keyed("1", model("refund:order-1042:another"))), deed.Execute, "", 1)
		})
	}
}

// Told that an equal call is under way, and to call again, a caller calls again: by
// then the other one is done and its answer delivered, to somebody else.
func TestAKeyThatWasToldToWaitForATwinNamesTheTwin(t *testing.T) {
	for name, own := range twoNames {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, func(rule *deed.Rule) { rule.Wait = -1 })
			_, grant := b.claim(b.rt, keyed("1", own[0]))
			b.clock.Advance(time.Second)
			b.want(b.do(keyed("1", own[1])), deed.InProgress, deed.ReasonTwinExecuting, 0)
			b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_1"}, Result: []byte(`{}`)})
			b.want(b.do(keyed("1", own[0])), deed.Replay, deed.ReasonStored, 0)
			b.want(b.do(keyed("1", own[1])), deed.Replay, deed.ReasonStored, 0)
			b.want(b.do(keyed("1", model("refund:order-1042:another"))), deed.Execute, "", 1)
		})
	}
}

// Whoever leaves while waiting, after a client's own time limit perhaps, was told
// nothing, and calls again too.
func TestAKeyWhoseCallerLeftWaitingForATwinNamesTheTwin(t *testing.T) {
	for name, own := range twoNames {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, nil)
			_, grant := b.claim(b.rt, keyed("1", own[0]))
			b.clock.Advance(time.Second)
			impatient, leave := context.WithCancel(t.Context())
			defer leave()
			left := make(chan error, 1)
			go func() {
				_, _, err := b.rt.Claim(impatient, keyed("1", own[1]))
				left <- err
			}()
			waitFor(t, func() bool { return b.clock.WaitingFor(25*time.Second) > 0 })
			leave()
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Fatalf("it left with %v", err)
			}
			b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_1"}, Result: []byte(`{}`)})
			b.want(b.do(keyed("1", own[0])), deed.Replay, deed.ReasonStored, 0)
			b.want(b.do(keyed("1", own[1])), deed.Replay, deed.ReasonStored, 0)
			b.want(b.do(keyed("1", model("refund:order-1042:another"))), deed.Execute, "", 1)
		})
	}
}

// Told that nobody knows of an equal call, a caller asks again when somebody does.
func TestAKeyThatWasToldOfADoubtNamesTheOperationInDoubt(t *testing.T) {
	for name, own := range twoNames {
		for _, applied := range []bool{true, false} {
			t.Run(fmt.Sprint(name, applied), func(t *testing.T) {
				b := newRig(t, nil)
				_, grant := b.claim(b.rt, keyed("1", own[0]))
				b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
				b.want(b.do(keyed("1", own[1])), deed.Uncertain, deed.ReasonTwinUnresolved, 0)
				if !applied {
					b.resolve(grant.Operation, deed.Resolution{Outcome: deed.ResolveNotApplied, Reason: "not in the list"})
					again := b.do(keyed("1", own[1]))
					if b.want(again, deed.Execute, "", 1); again.Operation.ID != grant.Operation {
						t.Errorf("it is %s that was tried again, not %s", again.Operation.ID, grant.Operation)
					}
					return
				}
				b.resolve(grant.Operation, deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"re_1"}, Reason: "seen in the list"})
				b.want(b.do(keyed("1", own[0])), deed.Replay, deed.ReasonResultDiscarded, 0)
				b.want(b.do(keyed("1", own[1])), deed.Replay, deed.ReasonResultDiscarded, 0)
			})
		}
	}
}

// fullStore takes no writes.
type fullStore struct {
	deed.Store
}

func (s fullStore) Transact(context.Context, deed.Scope, func(deed.View) (deed.Change, error)) (deed.View, error) {
	return deed.View{}, fmt.Errorf("%w: the disk is full", deed.ErrUnavailable)
}

func TestARepeatIsAnsweredWhereItsFurtherKeyCannotBeWritten(t *testing.T) {
	b := newRig(t, nil)
	b.want(b.do(keyed("1", callID("session-1/toolu_1"), model("refund:order-1042:first"))), deed.Execute, "", 1)
	b.store = fullStore{b.store}
	b.rt = b.process()
	b.want(b.do(keyed("1", callID("session-1/toolu_1"), model("refund:order-1042:again"))), deed.Replay, deed.ReasonStored, 1)
	b.want(b.do(keyed("1", callID("session-1/toolu_2"), model("refund:order-1042:first"))), deed.Replay, deed.ReasonStored, 1)
	b.want(b.do(keyed("1", model("refund:order-1042:again"))), deed.Denied, deed.ReasonStoreUnavailable, 1)
}

// What a person decided against stays so under every name of it.
func TestAModelKeyBesideTheCallIDOfWhatIsNotDoneBecomesItsAlias(t *testing.T) {
	for reason, decide := range map[deed.Reason]func(*rig, *deed.Operation) error{
		deed.ReasonCancelled: func(b *rig, op *deed.Operation) error {
			_, err := b.rt.Cancel(context.Background(), agent, op.ID, "no")
			return err
		},
		deed.ReasonByPerson: func(b *rig, op *deed.Operation) error {
			_, err := b.rt.Deny(context.Background(), person("alice"), op.ID, deed.Consent{Digest: op.Approval.Digest, Reason: "no"})
			return err
		},
	} {
		t.Run(string(reason), func(t *testing.T) {
			b := newRig(t, approving(nil))
			first := b.do(keyed("1", callID("session-1/toolu_1"), model("refund:order-1042:first")))
			if err := decide(b, first.Operation); err != nil {
				t.Fatal(err)
			}
			b.want(b.do(keyed("1", callID("session-1/toolu_1"), model("refund:order-1042:again"))), deed.Denied, reason, 0)
			b.clock.Advance(25 * time.Hour)
			b.want(b.do(keyed("1", model("refund:order-1042:again"))), deed.Denied, reason, 0)
		})
	}
}
