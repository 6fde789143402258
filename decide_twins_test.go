// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// twinSituation is a twin in a row of table 5, and what the three columns
// answer: an explicit key and an equal fingerprint, any other key and an
// equal fingerprint, an equal matter only (explicit key / any other key).
type twinSituation struct {
	row    string
	state  deed.State
	change func(q *deed.Question, twin *deed.Operation)
	// want holds the words of the columns; the third has two, explicit first.
	want [4]string
}

const twice = "uncertain(twin_unresolved)"

var twinTable = []twinSituation{
	{"UN `outcome_unknown`, `found_many`; AI; EX, lease expired", deed.StateUncertain, nil, [4]string{twice, twice + " alias", twice, twice}},
	{"UN `outcome_unknown`, `found_many`; AI; EX, lease expired", deed.StateUncertain, foundMany, [4]string{twice, twice + " alias", twice, twice}},
	{"UN `outcome_unknown`, `found_many`; AI; EX, lease expired", deed.StateAwaitingInput, nil, [4]string{twice, twice + " alias", twice, twice}},
	{"UN `outcome_unknown`, `found_many`; AI; EX, lease expired", deed.StateExecuting, leaseLost, [4]string{twice, twice + " alias", twice, twice}},
	{"UN `tool_error`", deed.StateUncertain, toolError, [4]string{twice, twice + " alias", "begin", "begin"}},
	{"same, tool class `idempotent`", deed.StateUncertain, idempotent, [4]string{"begin", "begin", "begin", "begin"}},
	{"same, tool class `idempotent`", deed.StateAwaitingInput, idempotent, [4]string{"begin", "begin", "begin", "begin"}},
	{"EX, lease live", deed.StateExecuting, nil, [4]string{"wait", "wait", "wait", "wait"}},
	{"EX, lease live", deed.StateExecuting, allowExecuting, [4]string{"begin", "wait", "begin", "wait"}},
	{"EX, lease live", deed.StateCommitted, joined, [4]string{"begin", "replay(twin_joined) alias", "begin", "denied(twin_undelivered)"}},
	{"EX, lease live", deed.StateFailedFinal, joined, [4]string{"begin", "failed(refused)", "begin", "begin"}},
	{"EX, lease live", deed.StateFailedRetryable, joined, [4]string{"begin", "failed(refused)", "begin", "begin"}},
	{"AU", deed.StateAuthorized, nil, [4]string{"begin", "alias and begin", "begin", "denied(twin_pending)"}},
	{"AA", deed.StateAwaitingApproval, nil, [4]string{"begin", "awaiting_approval(twin_pending) alias", "begin", "denied(twin_pending)"}},
	{"CO, undelivered", deed.StateCommitted, nil, [4]string{"begin", "replay(twin_undelivered) alias", "begin", "denied(twin_undelivered)"}},
	{"CO, delivered", deed.StateCommitted, deliveredAt(noon), [4]string{"begin", "begin", "begin", "begin"}},
	{"CO, delivered", deed.StateCommitted, long, [4]string{"begin", "begin", "begin", "begin"}},
	{"FR, FF, AB, CA, XP", deed.StateFailedRetryable, nil, [4]string{"begin", "begin", "begin", "begin"}},
	{"FR, FF, AB, CA, XP", deed.StateFailedFinal, nil, [4]string{"begin", "begin", "begin", "begin"}},
	{"FR, FF, AB, CA, XP", deed.StateAbandoned, nil, [4]string{"begin", "begin", "begin", "begin"}},
	{"FR, FF, AB, CA, XP", deed.StateCancelled, nil, [4]string{"begin", "begin", "begin", "begin"}},
	{"FR, FF, AB, CA, XP", deed.StateExpired, nil, [4]string{"begin", "begin", "begin", "begin"}},
	{"DE by a person, < 24 h", deed.StateDenied, nil, [4]string{"begin", "denied(twin_denied)", "begin", "begin"}},
	{"DE otherwise", deed.StateDenied, byPolicy, [4]string{"begin", "begin", "begin", "begin"}},
	{"DE otherwise", deed.StateDenied, dayAgo, [4]string{"begin", "begin", "begin", "begin"}},
}

func foundMany(_ *deed.Question, twin *deed.Operation)   { twin.Reason = deed.ReasonFoundMany }
func toolError(_ *deed.Question, twin *deed.Operation)   { twin.Reason = deed.ReasonToolError }
func leaseLost(_ *deed.Question, twin *deed.Operation)   { twin.LeaseExpiresAt = noon }
func allowExecuting(q *deed.Question, _ *deed.Operation) { q.Rule.TwinsExecuting = true }
func byPolicy(_ *deed.Question, twin *deed.Operation)    { twin.Reason = deed.ReasonPolicyChanged }
func dayAgo(_ *deed.Question, twin *deed.Operation)      { twin.SettledAt = noon.Add(-24 * time.Hour) }
func long(_ *deed.Question, twin *deed.Operation)        { twin.SettledAt = noon.Add(-25 * time.Hour) }
func deliveredAt(at time.Time) func(*deed.Question, *deed.Operation) {
	return func(_ *deed.Question, twin *deed.Operation) { twin.DeliveredAt = at }
}

// decide answers a new call whose only twin is in the situation.
func (s twinSituation) decide(provenance deed.Provenance, sameEffect bool) (deed.Ruling, string) {
	q, twin := question(provenance), inState(s.state)
	twin.Matter, q.Matter = `["order-1042"]`, `["order-1042"]`
	if !sameEffect {
		twin.Fingerprint = "sha256:other"
	}
	if s.change != nil {
		s.change(&q, twin)
	}
	q.View.Twins = []*deed.Operation{twin}
	return q.Decide()
}

func TestTableOfTwins(t *testing.T) {
	rows := map[string][]string{}
	for _, row := range section(t, "## 5. No operation exists: twins") {
		rows[row[0]] = row
	}
	got := map[string]map[string]string{}
	record := func(row, column, name, word string) {
		key := row + "\x00" + column
		if got[key] == nil {
			got[key] = map[string]string{}
		}
		got[key][name] = strings.TrimSuffix(word, " alias")
	}
	for n, s := range twinTable {
		if rows[s.row] == nil {
			t.Errorf("the test's row %q is not documented", s.row)
			continue
		}
		for i, column := range []struct {
			provenance deed.Provenance
			same       bool
			documented string
		}{
			{deed.ProvenanceRuntime, true, "1"}, {deed.ProvenanceModel, true, "2"},
			{deed.ProvenanceDerived, false, "3"}, {deed.ProvenanceCallID, false, "3"},
		} {
			r, word := s.decide(column.provenance, column.same)
			if word != s.want[i] {
				t.Errorf("row %q, %s, column %d: got %s, want %s", s.row, s.state, i+1, word, s.want[i])
			}
			name := strconv.Itoa(n) + string(s.state) + string(column.provenance)
			if word == "wait" {
				word = r.Answered()
			}
			if s.state == deed.StateCommitted && s.row == "EX, lease live" && column.documented == "3" {
				continue // the twin has settled: then it is row "CO, undelivered"
			}
			record(s.row, column.documented, name, word)
		}
	}
	for name, row := range rows {
		if strings.HasPrefix(name, "none, but") {
			continue // TestContentRefusedBeforeIsHeld
		}
		for column, cell := range map[string]string{"1": row[1], "2": row[2], "3": row[3]} {
			words := got[name+"\x00"+column]
			if words == nil {
				t.Errorf("the documented row %q has no situation", name)
				continue
			}
			if strings.Contains(cell, "UN as above") {
				words["settled uncertain"] = twice
				cell += " `" + twice + "`"
			}
			if strings.Contains(cell, "twins: {within") {
				words["young and keyless"] = recentTwin(t)
			}
			compareRow(t, name+" / "+column, cell, words)
		}
	}
}

// recentTwin answers a keyless call on a route that takes young twins for
// repeats.
func recentTwin(t *testing.T) string {
	t.Helper()
	s := twinSituation{state: deed.StateCommitted, change: func(q *deed.Question, twin *deed.Operation) {
		twin.DeliveredAt = noon
		q.Rule.TwinsWithin = 10 * time.Second
	}}
	if _, word := s.decide(deed.ProvenanceModel, true); word != "begin" {
		t.Errorf("a model's key beside a recent twin: %s", word)
	}
	_, word := s.decide(deed.ProvenanceNone, true)
	return word
}

func TestContentRefusedBeforeIsHeld(t *testing.T) {
	refusedBy := func(state deed.State, mode deed.AfterConflict, age time.Duration) func(*deed.Question, *deed.Operation) {
		return func(q *deed.Question, twin *deed.Operation) {
			q.Rule.AfterConflict = mode
			*twin = *inState(deed.StateFailedFinal)
			op := inState(state)
			op.ID = "op_refuser"
			q.View.Refused = []deed.Refusal{{Operation: op, At: noon.Add(-age)}}
		}
	}
	for _, test := range []struct {
		name       string
		change     func(*deed.Question, *deed.Operation)
		provenance deed.Provenance
		want       string
	}{
		{"a committed operation refused it", refusedBy(deed.StateCommitted, deed.AfterConflictHold, time.Hour), deed.ProvenanceModel, "denied(conflict_unresolved)"},
		{"an uncertain operation refused it", refusedBy(deed.StateUncertain, deed.AfterConflictHold, time.Hour), deed.ProvenanceCallID, "denied(conflict_unresolved)"},
		{"a failed operation refused it", refusedBy(deed.StateFailedFinal, deed.AfterConflictHold, time.Hour), deed.ProvenanceModel, "begin"},
		{"it was refused a day ago", refusedBy(deed.StateCommitted, deed.AfterConflictHold, 24*time.Hour), deed.ProvenanceModel, "begin"},
		{"the runtime says so", refusedBy(deed.StateCommitted, deed.AfterConflictHold, time.Hour), deed.ProvenanceRuntime, "begin"},
		{"a warning is enough", refusedBy(deed.StateCommitted, deed.AfterConflictWarn, time.Hour), deed.ProvenanceModel, "begin"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, word := twinSituation{state: deed.StateCommitted, change: test.change}.decide(test.provenance, true)
			if word != test.want {
				t.Errorf("got %s, want %s", word, test.want)
			}
			if warned := r.Warning() != ""; warned != (test.name == "a warning is enough") {
				t.Errorf("warning %q", r.Warning())
			}
		})
	}
}

func TestExplicitKeysAreToldOfASimilarEffect(t *testing.T) {
	for _, state := range []deed.State{deed.StateCommitted, deed.StateAuthorized, deed.StateAwaitingApproval} {
		r, _ := twinSituation{state: state}.decide(deed.ProvenanceRuntime, true)
		if r.SimilarTo() != "op_1" {
			t.Errorf("%s: similar to %q", state, r.SimilarTo())
		}
	}
}

func TestATwinOfAnotherActorBlocksWithoutShowingItself(t *testing.T) {
	foreign := func(change func(*deed.Question, *deed.Operation)) func(*deed.Question, *deed.Operation) {
		return func(q *deed.Question, twin *deed.Operation) {
			twin.Actor = "somebody else"
			if change != nil {
				change(q, twin)
			}
		}
	}
	for _, test := range []struct {
		state  deed.State
		change func(*deed.Question, *deed.Operation)
		want   string
	}{
		{deed.StateUncertain, nil, twice},
		{deed.StateExecuting, nil, "wait"},
		{deed.StateAuthorized, nil, "denied(twin_pending)"},
		{deed.StateAwaitingApproval, nil, "denied(twin_pending)"},
		{deed.StateCommitted, nil, "begin"},
		{deed.StateCommitted, joined, "begin"},
		{deed.StateFailedFinal, joined, "begin"},
	} {
		r, word := twinSituation{state: test.state, change: foreign(test.change)}.decide(deed.ProvenanceModel, true)
		if word != test.want {
			t.Errorf("%s: got %s, want %s", test.state, word, test.want)
		}
		if word != "begin" && !r.Hidden() {
			t.Errorf("%s: the twin shows itself", test.state)
		}
		if r.SimilarTo() != "" {
			t.Errorf("%s: similar to %s", test.state, r.SimilarTo())
		}
	}
}

func TestTheStrictestTwinWins(t *testing.T) {
	q := question(deed.ProvenanceModel)
	add := func(id deed.OperationID, state deed.State) {
		twin := inState(state)
		twin.ID = id
		q.View.Twins = append(q.View.Twins, twin)
	}
	for _, step := range []struct {
		id    deed.OperationID
		state deed.State
		want  string
	}{
		{"op_a", deed.StateFailedFinal, "begin"},
		{"op_b", deed.StateCommitted, "replay(twin_undelivered) alias"},
		{"op_c", deed.StateAwaitingApproval, "awaiting_approval(twin_pending) alias"},
		{"op_d", deed.StateExecuting, "wait"},
		{"op_e", deed.StateDenied, "denied(twin_denied)"},
		{"op_f", deed.StateUncertain, twice + " alias"},
	} {
		add(step.id, step.state)
		if _, word := q.Decide(); word != step.want {
			t.Errorf("with a twin %s: got %s, want %s", step.state, word, step.want)
		}
	}
}

func TestAnOperationOfItsOwnIsNoAliasOfAPendingTwin(t *testing.T) {
	for _, state := range []deed.State{deed.StateAuthorized, deed.StateAwaitingApproval} {
		q := question(deed.ProvenanceModel)
		q.View.Operation = inState(deed.StateFailedRetryable)
		twin := inState(state)
		twin.ID = "op_2"
		q.View.Twins = []*deed.Operation{twin}
		if _, word := q.Decide(); word != "denied(twin_pending)" {
			t.Errorf("beside a twin %s: %s", state, word)
		}
	}
}
