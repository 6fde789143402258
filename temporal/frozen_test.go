// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/deed-run/deed"
	deedtemporal "github.com/deed-run/deed/temporal"
)

// edited runs an Activity whose call a person edits before agreeing to it, and
// returns how it ended.
func edited(t *testing.T, f any, edit string, args ...any) (ran bool, err error) {
	t.Helper()
	b := newBench(t)
	rule := deed.DefaultRule("temporal/Activity")
	rule.Approval = &deed.ApprovalRule{OnCall: true}
	b.rules["temporal/Activity"] = rule
	env := b.activities("Activity", f)
	if _, err := env.ExecuteActivity("Activity", args...); err == nil {
		t.Fatal("it ran without consent")
	}
	op := b.only()
	if _, err := b.rt.EditAndApprove(t.Context(), operator, op.ID, op.Approval.Digest, []byte(edit), "why"); err != nil {
		t.Fatal(err)
	}
	_, err = env.ExecuteActivity("Activity", args...)
	page, listErr := b.rt.List(t.Context(), operator, deed.Query{Statuses: []deed.Status{deed.StatusCommitted}})
	if listErr != nil {
		t.Fatal(listErr)
	}
	return len(page.Operations) == 1, err
}

func TestAnEditThatTheActivitysTypesWouldChangeIsNotRun(t *testing.T) {
	for edit, want := range map[string]refund{
		`{"order":"1042","amount":6}`:              {"1042", 6},
		` { "amount" : 6 , "order" : "1042" } `:    {"1042", 6},
		`{"order":"1042","amout":6}`:               {},
		`{"order":"1042"}`:                         {},
		`{"order":"1042","amount":null}`:           {},
		`{"order":"1042","amount":6,"note":"why"}`: {},
		`{"order":"1042","amount":"6"}`:            {},
		`{"order":"1042","Amount":6}`:              {},
		`{"args":[{"order":"1042","amount":6}]}`:   {},
	} {
		t.Run(edit, func(t *testing.T) {
			var got refund
			ran, err := edited(t, func(_ context.Context, r refund) error { got = r; return nil }, edit, order)
			if ran != (want != refund{}) || got != want {
				t.Errorf("it ran with %+v (%v), %v", got, ran, err)
			}
			if ran {
				return
			}
			var failure *temporal.ApplicationError
			if !errors.As(err, &failure) || !failure.NonRetryable() || failure.Type() != deedtemporal.ErrorType(deed.Failed) || !strings.Contains(err.Error(), "nothing was sent") {
				t.Errorf("Temporal was told %v", err)
			}
		})
	}
}

func TestAMemberBesideTheArgumentsIsNotDropped(t *testing.T) {
	ran, err := edited(t, func(context.Context, string, int) error { t.Error("it ran"); return nil }, `{"args":["1042",6],"note":"why"}`, "1042", 12)
	if ran || err == nil {
		t.Errorf("it ran (%v), %v", ran, err)
	}
}

func TestAnArgumentThatIsNilStaysNil(t *testing.T) {
	var got refund
	ran, err := edited(t, func(_ context.Context, r refund, more *refund) error {
		if more != nil {
			t.Errorf("it got %+v", more)
		}
		got = r
		return nil
	}, `{"args":[{"order":"1042","amount":6},null]}`, order, (*refund)(nil))
	if !ran || got.Amount != 6 {
		t.Errorf("it ran with %+v (%v), %v", got, ran, err)
	}
}

func TestAMarkThatTheActivitysTypeHasNoPlaceForIsNotDropped(t *testing.T) {
	b, p := newBench(t), &payments{}
	b.rule(func(r *deed.Rule) {
		r.Planting = &deed.Planting{Plant: func(arguments []byte, marks deed.Marks) ([]byte, error) {
			return []byte(strings.TrimSuffix(string(arguments), "}") + `,"reference":"` + marks.Marker + `"}`), nil
		}}
	})
	env := b.workflow(p)
	env.SetTestTimeout(time.Minute)
	env.ExecuteWorkflow(refundOnce, order)
	if told, failure := report(t, env); told.Decision != deed.Failed || !failure.NonRetryable() || !strings.Contains(told.Text, "reference") {
		t.Errorf("the Workflow was told %+v by %v", told, failure)
	}
	p.want(t)
}

func TestWhatWasReadIsComparedWithWhatIsFrozen(t *testing.T) {
	for _, c := range []struct{ frozen, read, at string }{
		{`6`, `6.0`, ""},
		{`1e3`, `1000`, ""},
		{`9007199254740992.0`, `9007199254740992`, ""},
		{`9007199254740993`, `9007199254740992`, "all"},
		{`1e400`, `2e400`, "all"},
		{`1e-400`, `0`, "all"},
		{`1e999999999`, `1`, "all"},
		{`[1,2]`, `[2,1]`, "/0 /1"},
		{`[1]`, `[1,1]`, "all"},
		{`{"a":null,"b":0,"c":"","d":false,"e":[],"f":{}}`, `{}`, ""},
		{`{}`, `{"a":0}`, "/a"},
		{`{"a":{"b/c":1}}`, `{"a":{"b/c":2}}`, "/a/b~1c"},
		{`{"amout":6}`, `{"amount":0}`, "/amout /amount"},
		{`"1"`, `1`, "all"},
		{`true`, `false`, "all"},
	} {
		got, err := deedtemporal.Differences([]byte(c.frozen), []byte(c.read))
		if err != nil || strings.Join(got, " ") != c.at {
			t.Errorf("%s and %s differ at %q, %v; want %q", c.frozen, c.read, got, err, c.at)
		}
	}
}

func TestArgumentsAreNotWrittenIntoAFailure(t *testing.T) {
	_, err := edited(t, func(context.Context, refund) error { return nil }, `{"order":"the secret order","amout":6}`, order)
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "/amout") || errors.Unwrap(errors.Unwrap(err)) != nil {
		t.Errorf("Temporal was told %v", err)
	}
}

type withSecret struct {
	Order string `json:"order"`
	Token string `json:"-"`
}

func TestALocalActivityWhoseArgumentsJSONDoesNotHoldIsNotRunWithOthers(t *testing.T) {
	b := newBench(t)
	b.guard.Prepare = func(_ context.Context, _ activity.Info, call *deed.Call) error {
		call.Key, call.Arguments = deed.OperationKey(key), []byte(`{"order":"1043"}`)
		return nil
	}
	ran := false
	pay := func(context.Context, withSecret) error { ran = true; return nil }
	env := b.workflow(&payments{})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
		return workflow.ExecuteLocalActivity(ctx, pay, withSecret{"1042", "secret"}).Get(ctx, nil)
	})
	if told, _ := report(t, env); ran || told.Decision != deed.Failed || !strings.Contains(told.Text, "what JSON does not") {
		t.Errorf("it ran: %v; the Workflow was told %+v", ran, told)
	}
}
