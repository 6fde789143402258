// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"os"
	"strings"
	"testing"

	"github.com/deed-run/deed/faultkit/provider"
)

// story is one reported failure.
type story struct {
	id string
	setup
	// play is the failure as it was reported, with a client that does as it is
	// told. Nil means that only agents play it.
	play func(w *world)
	// agent is the same failure with a scripted agent in the client's place. Nil
	// means that an agent would see nothing of it.
	agent func(w *world, a agent)
	// only leaves out places that cannot show the failure.
	only func(p place) bool
	// rotates meets one place without the campaign: a row of a table.
	rotates bool
}

// stories are the reported failures that are played.
func stories() []story {
	var all []story
	for _, group := range [][]story{
		lostAnswers(), transports(), resumptions(), redeliveries(), recoveries(), layers(), identities(), crowds(), falseReports(), money(), approvals(), budgets(), lookUps(), windows(),
	} {
		all = append(all, group...)
	}
	return all
}

// chosen are the places where the i-th story is played: all that can show it in
// the campaign, otherwise n of them, so that the stories together meet every door,
// ledger and number of gateways.
func (s story) chosen(i, n int, only func(p place) bool) []place {
	var able []place
	for _, p := range places() {
		if (s.only == nil || s.only(p)) && (only == nil || only(p)) {
			able = append(able, p)
		}
	}
	if campaign() || len(able) <= n {
		return able
	}
	var list []place
	for k := range n {
		// The half turn leads to another ledger and number of gateways.
		list = append(list, able[(7*i+k*(len(able)/2+1))%len(able)])
	}
	return list
}

func TestReportedFailuresDoNotHappenHere(t *testing.T) {
	met := map[any]bool{}
	for i, s := range stories() {
		if s.play != nil {
			times := 2
			if s.rotates {
				times = 1
			}
			for _, p := range s.chosen(i, times, nil) {
				met[p.name], met[p.ledger], met[p.replicas] = true, true, true
				t.Run(s.id+"/"+p.String(), func(t *testing.T) {
					t.Parallel()
					s.play(newWorld(t, p, s.setup))
				})
			}
		}
		if s.agent == nil {
			continue
		}
		for k, a := range agents() {
			for _, p := range s.chosen(i+k, 1, overMCP) {
				t.Run(s.id+"/"+p.String()+"/"+string(a), func(t *testing.T) {
					t.Parallel()
					s.agent(newWorld(t, p, s.setup), a)
				})
			}
		}
	}
	if len(met) != len(doors())+2+2 {
		t.Errorf("only these doors, ledgers and numbers of gateways were met: %v", met)
	}
}

// TestEveryReportedFailureIsPlayedOrLeftForAReason holds the table in doc.go
// against the stories.
func TestEveryReportedFailureIsPlayedOrLeftForAReason(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	played := map[string]bool{}
	for _, s := range stories() {
		played[strings.SplitN(s.id, " ", 2)[0]] = true
	}
	count := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		fields := strings.Fields(strings.TrimPrefix(line, "//"))
		if len(fields) < 2 || len(fields[0]) != 3 || fields[0][1] < '0' || fields[0][1] > '9' {
			continue
		}
		count++
		if played[fields[0]] != (fields[1] != "left") {
			t.Errorf("doc.go says %q, and played is %t", strings.Join(fields, " "), played[fields[0]])
		}
	}
	if count != 30 {
		t.Errorf("doc.go lists %d reported failures, want 30", count)
	}
}

// business is what a real configuration says about the tools of the shop: what
// an action is about, so that other words are no other action.
func business() map[string]any {
	return map[string]any{
		"pay.charge":    map[string]any{"effect": "non_idempotent", "matter": []any{"/order_id"}, "receipt": receipt()},
		"pay.refund":    map[string]any{"effect": "non_idempotent", "matter": []any{"/order_id"}, "receipt": receipt()},
		"mail.send":     map[string]any{"effect": "non_idempotent", "matter": []any{"/id"}, "receipt": receipt()},
		"ticket.create": map[string]any{"effect": "non_idempotent", "matter": []any{"/id"}, "receipt": receipt()},
	}
}

func receipt() map[string]any {
	return map[string]any{"system": "shop", "id": "/structuredContent/id"}
}

// with adds to the rules of one tool.
func with(rules map[string]any, tool string, more map[string]any) map[string]any {
	for name, value := range more {
		rules[tool].(map[string]any)[name] = value
	}
	return rules
}

// wordless leaves the free text out of what makes two actions the same.
func wordless(tool string) map[string]any {
	return with(business(), tool, map[string]any{"fingerprint": map[string]any{"exclude": []any{"/note"}}})
}

// alone is a provider without look-ups.
func (w *world) alone() {
	w.Helper()
	s := provider.DefaultSettings()
	s.Lookup = provider.NoLookup
	w.must(w.fixture.Configure(w.Context(), s))
}
