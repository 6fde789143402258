// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/deed-run/deed"
)

// marking is a rule whose calls wait for a person and carry a mark that can be
// taken out again.
func marking(rule *deed.Rule) {
	rule.Approval, rule.Wait = &deed.ApprovalRule{}, -1
	member := func(marks deed.Marks) []byte { return []byte(`,"mark":"` + marks.Marker + `"}`) }
	rule.Planting = &deed.Planting{
		Plant: func(arguments []byte, marks deed.Marks) ([]byte, error) {
			if bytes.Contains(arguments, []byte(`"mark"`)) {
				return nil, errors.New("/mark is written by deed")
			}
			return append(bytes.Clone(bytes.TrimSuffix(arguments, []byte("}"))), member(marks)...), nil
		},
		Strip: func(planted []byte, marks deed.Marks) ([]byte, error) {
			if rest, marked := bytes.CutSuffix(planted, member(marks)); marked {
				return append(bytes.Clone(rest), '}'), nil
			}
			return planted, nil
		},
	}
}

func TestAnEditedCallCarriesMarksOfItsOwn(t *testing.T) {
	for name, edit := range map[string]func(frozen string) string{
		"where the old mark was left": func(frozen string) string { return strings.Replace(frozen, `"amount":12`, `"amount":6`, 1) },
		"where it was taken out":      func(string) string { return edited },
	} {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, marking)
			op, err := b.rt.Get(context.Background(), person("alice"), b.propose("12").ID)
			if err != nil {
				t.Fatal(err)
			}
			next := b.edit(op, edit(string(op.Arguments)))
			_, grant := b.claim(b.rt, refund("12"))
			if grant == nil || grant.Operation != next.ID {
				t.Fatalf("granted %+v", grant)
			}
			mark := grant.Marks.Marker
			if want := strings.TrimSuffix(edited, "}") + `,"mark":"` + mark + `"}`; string(grant.Arguments) != want || bytes.Contains(op.Arguments, []byte(mark)) {
				t.Errorf("sent %s, want %s", grant.Arguments, want)
			}
			b.settle(b.rt, grant, succeeded("re_1"))
			for _, amount := range []string{"12", "6"} {
				again := b.do(refund(amount))
				if again.Decision != deed.Replay || again.Operation.ID != next.ID {
					t.Errorf("%s is answered %s (%s)", amount, again.Decision, again.Reason)
				}
			}
			proved, err := b.rt.Prove(context.Background(), deed.Proof{Tenant: "acme", Marker: mark, RemoteID: "re_1", EstablishedBy: deed.ByWebhook})
			if err != nil || proved.ID != next.ID || proved.Diverged {
				t.Errorf("its mark finds %+v, %v", proved, err)
			}
		})
	}
}

func TestMarksThatCannotBeToldApartKeepACallFromBeingEdited(t *testing.T) {
	b := newRig(t, marking)
	op, err := b.rt.Get(context.Background(), person("alice"), b.propose("12").ID)
	if err != nil {
		t.Fatal(err)
	}
	attempt := func(arguments, say string, is error) {
		t.Helper()
		_, err := b.rt.EditAndApprove(context.Background(), person("alice"), op.ID, op.Approval.Digest, []byte(arguments), "why")
		if err == nil || !strings.Contains(err.Error(), say) || is != nil && !errors.Is(err, is) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	moved := strings.Replace(string(op.Arguments), `"mark"`, `"note"`, 1)
	attempt(moved, "in another place", deed.ErrArguments)
	attempt(`{"order_id":"1042","amount":6,"mark":"mine"}`, "written by deed", deed.ErrArguments)
	b.rule.Planting.Strip = nil
	attempt(edited, "deny it and say in the reason what to change", nil)
	if now, err := b.rt.Get(context.Background(), person("alice"), op.ID); err != nil || now.Version != op.Version {
		t.Errorf("it is %+v, %v", now, err)
	}
}
