// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"testing"

	"github.com/deed-run/deed"
)

// overwrite does what a caller that uses one buffer for all its calls does.
func overwrite(call deed.Call) { copy(call.Arguments, `{"order_id":"9999","amount":99}`) }

func TestWhatIsSentIsNotTheCallersBuffer(t *testing.T) {
	for name, change := range map[string]func(*deed.Rule){
		"a call that is recorded": nil,
		"a read-only tool":        func(rule *deed.Rule) { rule.Effect = deed.EffectReadOnly },
		"a repeat that is only observed": func(rule *deed.Rule) {
			rule.Mode = deed.ModeObserve
		},
		"marks that are planted in place": func(rule *deed.Rule) {
			rule.Planting = &deed.Planting{Plant: func(arguments []byte, _ deed.Marks) ([]byte, error) { return arguments, nil }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, change)
			if b.rule.Mode == deed.ModeObserve {
				b.do(refund("12"))
			}
			call := refund("12")
			_, grant := b.claim(b.rt, call)
			overwrite(call)
			if want := refund("12").Arguments; string(grant.Arguments) != string(want) {
				t.Errorf("it would send %s, want %s", grant.Arguments, want)
			}
			b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess})
		})
	}
}

func TestACallerThatLeavesMayUseItsBufferAgain(t *testing.T) {
	b := newRig(t, nil)
	ctx, leave := context.WithCancel(context.Background())
	call := refund("12")
	overwritten, sent := make(chan struct{}), make(chan string, 1)
	_, err := b.rt.Do(ctx, call, func(inner context.Context, attempt deed.Attempt) (deed.Receipt, error) {
		leave()
		<-overwritten
		sent <- string(attempt.Arguments)
		return b.pay(inner, attempt)
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the caller was told %v", err)
	}
	overwrite(call)
	close(overwritten)
	if got, want := <-sent, string(refund("12").Arguments); got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}

func TestAnEditIsNotTheEditorsBuffer(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) { rule.Approval = &deed.ApprovalRule{} })
	proposed := b.do(refund("12")).Operation
	edited := refund("11")
	who := deed.Principal{Tenant: "acme", Actor: "ana", Rights: []deed.Right{deed.RightRead, deed.RightApprove}}
	op, err := b.rt.EditAndApprove(context.Background(), who, proposed.ID, proposed.Approval.Digest, edited.Arguments, "less")
	if err != nil {
		t.Fatal(err)
	}
	overwrite(edited)
	if want := refund("11").Arguments; string(op.Arguments) != string(want) {
		t.Errorf("it says %s, want %s", op.Arguments, want)
	}
}
