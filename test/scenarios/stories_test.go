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
	// only leaves out doors that cannot show the failure.
	only func(d door) bool
	// rotates meets one door without the campaign: a row of a table.
	rotates bool
}

// stories are the reported failures that are played.
func stories() []story {
	var all []story
	for _, group := range [][]story{
		lostAnswers(), transports(), resumptions(), redeliveries(), recoveries(), layers(), identities(), crowds(), falseReports(), money(), consent(),
	} {
		all = append(all, group...)
	}
	return all
}

func TestReportedFailuresDoNotHappenHere(t *testing.T) {
	for i, s := range stories() {
		for j, d := range doors() {
			if s.only != nil && !s.only(d) {
				continue
			}
			if s.play != nil && (!s.rotates || campaign() || s.only != nil || (i+j)%3 == 0) {
				t.Run(s.id+"/"+d.name, func(t *testing.T) {
					t.Parallel()
					s.play(newWorld(t, d, s.setup))
				})
			}
			for k, a := range agents() {
				// Without the campaign each agent meets each story at one door.
				if s.agent == nil || !campaign() && s.only == nil && (i+j+k)%3 != 0 {
					continue
				}
				t.Run(s.id+"/"+d.name+"/"+string(a), func(t *testing.T) {
					t.Parallel()
					s.agent(newWorld(t, d, s.setup), a)
				})
			}
		}
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
