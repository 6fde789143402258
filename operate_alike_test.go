// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
)

// alike is what alice is told of beside an operation.
func (b *rig) alike(op *deed.Operation) []deed.OperationID {
	b.t.Helper()
	others, err := deed.Alike(context.Background(), func(ctx context.Context, query deed.Query) (deed.Page, error) {
		return b.rt.List(ctx, person("alice"), query)
	}, op)
	if err != nil {
		b.t.Fatal(err)
	}
	var ids []deed.OperationID
	for _, other := range others {
		ids = append(ids, other.ID)
	}
	return ids
}

// asked is a call of the tool under a key of its own.
func (b *rig) asked(who deed.Actor, tenant deed.Tenant, n int) *deed.Operation {
	b.t.Helper()
	call := keyed("12", runtime(fmt.Sprintf("refund:order-1042:%d", n)))
	call.Principal.Actor, call.Principal.Tenant = who, tenant
	b.clock.Advance(time.Minute) // it is no loop
	answer := b.do(call)
	b.want(answer, deed.AwaitingApproval, deed.ReasonPending, 0)
	return answer.Operation
}

func TestWhoDecidesIsToldOfTheRefundBehindManyThatDidNothing(t *testing.T) {
	b := newRig(t, approving(nil))
	first := b.asked("agent", "acme", 0)
	b.approve(person("alice"), first)
	for n := range 60 {
		op := b.asked("agent", "acme", 1+n)
		if _, err := b.rt.Deny(context.Background(), person("alice"), op.ID, consentTo(op)); err != nil {
			t.Fatal(err)
		}
	}
	other := b.asked("another", "acme", 100)
	b.asked("agent", "elsewhere", 101)
	own := b.asked("agent", "acme", 102)
	if diff := cmp.Diff([]deed.OperationID{other.ID, first.ID}, b.alike(own)); diff != "" {
		t.Error(diff)
	}
}

func TestNoMoreThanFiftyAlikeAreTold(t *testing.T) {
	b := newRig(t, approving(nil))
	var asked []deed.OperationID
	for n := range 53 {
		asked = append([]deed.OperationID{b.asked(deed.Actor(fmt.Sprintf("agent-%d", n)), "acme", n).ID}, asked...)
	}
	newest, err := b.rt.Get(context.Background(), person("alice"), asked[0])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asked[1:51], b.alike(newest)); diff != "" {
		t.Error(diff)
	}
}
