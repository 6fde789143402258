// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

var (
	fenceCaller   = deed.Principal{Tenant: "default", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead}}
	fenceOperator = deed.Principal{Tenant: "default", Actor: "operator:ada", Rights: []deed.Right{deed.RightRead, deed.RightApprove, deed.RightResolve, deed.RightAdmin}}
)

// fencedGateway is a Runtime as a gateway has it, on a ledger that may be
// fenced.
type fencedGateway struct {
	*deed.Runtime
	rules *fenced
}

func newFencedGateway(t *testing.T, ledger Ledger) fencedGateway {
	t.Helper()
	asks := deed.DefaultRule("pay/ask")
	asks.Approval = &deed.ApprovalRule{When: func(arguments []byte, _ deed.Principal) bool { return string(arguments) == `{"n":1000}` }, OnCall: true}
	reads := deed.DefaultRule("pay/list")
	reads.Effect = deed.EffectReadOnly
	rules := &fenced{Policy: deed.FixedPolicy{"pay/ask": asks, "pay/list": reads}, ledger: ledger}
	if _, err := rules.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	rt, err := deed.New(deed.Options{Store: ledger, Policy: rules})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	return fencedGateway{rt, rules}
}

func (g fencedGateway) look(t *testing.T) {
	t.Helper()
	if _, err := g.rules.look(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// call claims and, where that is granted, settles with the outcome.
func (g fencedGateway) call(t *testing.T, tool deed.Tool, key, arguments string, outcome deed.Outcome) (deed.Answer, bool) {
	t.Helper()
	answer, grant, err := g.Claim(t.Context(), deed.Call{Principal: fenceCaller, Tool: tool, Key: deed.OperationKey(key), Arguments: []byte(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	if grant == nil {
		return answer, false
	}
	if !grant.Unrecorded {
		if answer, err = g.Settle(t.Context(), grant, outcome); err != nil {
			t.Fatal(err)
		}
	}
	return answer, true
}

func (g fencedGateway) approve(t *testing.T, op *deed.Operation) {
	t.Helper()
	if _, err := g.Approve(t.Context(), fenceOperator, op.ID, deed.Consent{Digest: op.Approval.Digest, Reason: "not at the provider"}); err != nil {
		t.Fatal(err)
	}
}

// Whoever runs a gateway learns of a fence as it starts, and once of each change.
func TestAFenceIsToldOnceAsItBeginsToStandAndAsItIsLifted(t *testing.T) {
	ledger, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ledger.Close() })
	desk := &Core{Ledger: ledger, Clock: deed.SystemClock{}}
	var told []string
	rules := newFenced(deed.FixedPolicy{}, ledger)
	rules.log = func(text string) { told = append(told, text) }
	looks := func(wanted ...string) {
		t.Helper()
		told = nil
		for range 2 {
			if _, err := rules.look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if len(told) != len(wanted) {
			t.Fatalf("told %q, want %q", told, wanted)
		}
		for i, text := range wanted {
			if !strings.Contains(told[i], text) {
				t.Errorf("told %q, want %q", told[i], text)
			}
		}
	}
	looks()
	if _, err := desk.SetFence(t.Context(), fenceOperator, time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), "restored"); err != nil {
		t.Fatal(err)
	}
	looks("a fence stands since 2")
	if text := told[0]; !strings.Contains(text, "set by operator:ada: what was done from 2026-03-01T09:30:00Z to then may be lost") {
		t.Errorf("told %q", text)
	}
	if _, err := desk.LiftFence(t.Context(), fenceOperator, "over"); err != nil {
		t.Fatal(err)
	}
	looks("was lifted by operator:ada")
}

func TestWhileAFenceStandsNothingBeginsWithoutAPersonsWord(t *testing.T) {
	ledger, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ledger.Close() })
	desk := &Core{Ledger: ledger, Clock: deed.SystemClock{}}
	success, unsent := deed.Outcome{Kind: deed.OutcomeSuccess, Result: []byte(`{}`)}, deed.Outcome{Kind: deed.OutcomeUnsent, Message: "no connection"}
	first, second := newFencedGateway(t, ledger), newFencedGateway(t, ledger)

	// What the restored copy holds: a commit, a failure that may be retried, and
	// an approval that nothing was begun under.
	second.call(t, "pay/send", "send:order-0:first", `{"n":0}`, success)
	first.call(t, "pay/send", "send:order-1:first", `{"n":1}`, success)
	first.call(t, "pay/send", "send:order-2:first", `{"n":2}`, unsent)
	asked, _ := first.call(t, "pay/ask", "ask:order-3:first:", `{"n":1000}`, success)
	first.approve(t, asked.Operation)

	if _, err := desk.SetFence(t.Context(), fenceCaller, time.Now(), ""); !errors.Is(err, deed.ErrForbidden) {
		t.Errorf("a caller sets a fence: %v", err)
	}
	if _, err := desk.LiftFence(t.Context(), fenceOperator, ""); !errors.Is(err, ErrNoFence) {
		t.Errorf("a fence that does not stand is lifted: %v", err)
	}
	if _, err := desk.SetFence(t.Context(), fenceOperator, time.Now().Add(-time.Hour), "restored"); err != nil {
		t.Fatal(err)
	}
	if _, err := desk.SetFence(t.Context(), fenceOperator, time.Now(), ""); !errors.Is(err, ErrFenceStands) {
		t.Errorf("a second fence is set: %v", err)
	}
	first.look(t)
	if told := first.rules.standing(); told == nil || told.Reason != "restored" || second.rules.standing() != nil {
		t.Errorf("the fence that stands is %+v, and for a gateway that has not looked yet %+v", told, second.rules.standing())
	}

	held := map[string]deed.Answer{}
	for _, c := range []struct {
		name, key, arguments string
		tool                 deed.Tool
		want                 deed.Decision
		sent                 bool
	}{
		{"what is known to be done is answered", "send:order-1:first", `{"n":1}`, "pay/send", deed.Replay, false},
		{"a failure may have been retried since", "send:order-2:first", `{"n":2}`, "pay/send", deed.AwaitingApproval, false},
		{"an approval may have been used since", "ask:order-3:first:", `{"n":1000}`, "pay/ask", deed.AwaitingApproval, false},
		{"an unknown key may be a lost one", "send:order-4:first", `{"n":4}`, "pay/send", deed.AwaitingApproval, false},
		{"a condition that does not hold asks all the same", "ask:order-5:first:", `{"n":5}`, "pay/ask", deed.AwaitingApproval, false},
		{"a read passes", "list:everything:1", `{}`, "pay/list", deed.Execute, true},
	} {
		answer, sent := first.call(t, c.tool, c.key, c.arguments, success)
		if answer.Decision != c.want || sent != c.sent {
			t.Errorf("%s: %s (%s), sent %v", c.name, answer.Decision, answer.Reason, sent)
		}
		held[c.key] = answer
	}
	// A gateway that has not heard of it yet stops as soon as another begins.
	first.approve(t, held["send:order-4:first"].Operation)
	if answer, sent := first.call(t, "pay/send", "send:order-4:first", `{"n":4}`, success); !sent || answer.Effective != deed.StatusCommitted {
		t.Errorf("what a person agreed to: %s (%s)", answer.Decision, answer.Reason)
	}
	if answer, sent := second.call(t, "pay/send", "send:order-6:first", `{"n":6}`, success); sent || answer.Reason != deed.ReasonPolicyOutdated {
		t.Errorf("a gateway that does not know of the fence: %s (%s)", answer.Decision, answer.Reason)
	}

	if _, err := desk.LiftFence(t.Context(), fenceOperator, "all callers are through"); err != nil {
		t.Fatal(err)
	}
	first.look(t)
	second.look(t)
	if told := first.rules.standing(); told != nil {
		t.Errorf("a lifted fence stands: %+v", told)
	}
	for i, g := range []fencedGateway{first, second} {
		key := []string{"send:order-7:first", "send:order-8:first"}[i]
		if answer, sent := g.call(t, "pay/send", key, `{"n":"`+key+`"}`, success); !sent {
			t.Errorf("gateway %d after the fence: %s (%s)", i, answer.Decision, answer.Reason)
		}
	}
	if answer, sent := second.call(t, "pay/send", "send:order-2:first", `{"n":2}`, success); sent || answer.Decision != deed.AwaitingApproval {
		t.Errorf("what waited goes on waiting: %s (%s)", answer.Decision, answer.Reason)
	}
	second.approve(t, held["send:order-2:first"].Operation)
	if answer, sent := second.call(t, "pay/send", "send:order-2:first", `{"n":2}`, success); !sent {
		t.Errorf("what was agreed to after the fence: %s (%s)", answer.Decision, answer.Reason)
	}
}
