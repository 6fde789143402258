// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// question is a call by the operation's own actor, with the same effect, at
// noon, that may begin and wait.
func question(provenance deed.Provenance) deed.Question {
	rule := deed.DefaultRule("pay/refund")
	rule.Hash = "hash"
	return deed.Question{
		Now: noon, Arrived: noon, Rule: rule, Provenance: provenance,
		Principal:    deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall}},
		Facts:        deed.ToolFacts{UpstreamIdentity: "up"},
		Fingerprints: map[deed.Digest]deed.Fingerprint{"rules": "sha256:a"}, Current: "rules",
		Joined: map[deed.OperationID]bool{},
	}
}

// situation is one way to arrive at a row of a table.
type situation struct {
	name   string
	state  deed.State
	change func(q *deed.Question, op *deed.Operation)
	want   string
}

// decideExisting answers the question about an operation in a state.
func (s situation) decideExisting(provenance deed.Provenance) string {
	q, op := question(provenance), inState(s.state)
	q.View.Operation = op
	q.View.Found = deed.Key{Provenance: provenance}
	if s.change != nil {
		s.change(&q, op)
	}
	_, word := q.Decide()
	return word
}

var documented = regexp.MustCompile("`([a-z_]+\\((?:[a-z_]+|<[a-z ]+>)\\))`")

// documentedWords returns the decision(reason) words of a cell; a reason in
// angle brackets stands for any.
func documentedWords(cell string) []string {
	var words []string
	for _, m := range documented.FindAllStringSubmatch(bare(cell), -1) {
		words = append(words, regexp.MustCompile(`<.*>`).ReplaceAllString(m[1], "*"))
	}
	for _, m := range bareDecision.FindAllStringSubmatch(bare(cell), -1) {
		words = append(words, m[1]+"(*)")
	}
	return words
}

// bareDecision is a decision whose reason is that of the operation.
var bareDecision = regexp.MustCompile("`(failed|uncertain)`")

// covers reports whether a documented word allows a decision.
func covers(want, got string) bool {
	prefix, wild := strings.CutSuffix(want, "*)")
	return want == got || wild && strings.HasPrefix(got, prefix)
}

// compareRow checks that the situations produce the documented words of a
// cell, all of them and no others; begin, wait and propose are words of ours.
func compareRow(t *testing.T, row, cell string, got map[string]string) {
	t.Helper()
	want := documentedWords(cell)
	for name, word := range got {
		if !strings.Contains(word, "(") {
			continue
		}
		if !slices.ContainsFunc(want, func(w string) bool { return covers(w, word) }) {
			t.Errorf("row %q, %s: decided %s, documented %v", row, name, word, want)
		}
	}
	for _, w := range want {
		seen := false
		for _, word := range got {
			seen = seen || covers(w, word)
		}
		if !seen {
			t.Errorf("row %q: %s is documented, no situation of the test leads to it: %v", row, w, got)
		}
	}
}

func joined(q *deed.Question, op *deed.Operation) { q.Joined[op.ID] = true }

// existing are the situations of the second half of table 4, by its rows.
var existing = map[string][]situation{
	"AA": {{"waits for a person", deed.StateAwaitingApproval, nil, "awaiting_approval(pending)"}},
	"AU": {{"may run", deed.StateAuthorized, nil, "begin"}},
	"EX, lease live": {
		{"is waited for", deed.StateExecuting, nil, "wait"},
		{"was waited for and committed", deed.StateCommitted, joined, "replay(joined)"},
		{"was waited for and refused", deed.StateFailedRetryable, joined, "failed(refused)"},
		{"was waited for and refused for good", deed.StateFailedFinal, joined, "failed(refused)"},
		{"was waited for and lost", deed.StateUncertain, joined, "uncertain(outcome_unknown)"},
	},
	"AI, no `inputResponses`": {{"shows the question", deed.StateAwaitingInput, nil, "in_progress(awaiting_input)"}},
	"AI, matching continuation": {
		{"begins the continuation", deed.StateAwaitingInput, func(q *deed.Question, _ *deed.Operation) { q.Continues, q.State, q.Inputs = true, "state", "yes" }, "begin"},
		{"other answers for a used state", deed.StateCommitted, func(q *deed.Question, op *deed.Operation) {
			op.AnsweredState, op.Inputs = "state", "yes"
			q.Continues, q.State, q.Inputs = true, "state", "no"
		}, "conflict(input_differs)"},
		{"an answer to a question that was not asked", deed.StateAwaitingInput, func(q *deed.Question, _ *deed.Operation) { q.Continues, q.State = true, "forged" }, "conflict(input_differs)"},
	},
	"CO": {
		{"has its result", deed.StateCommitted, nil, "replay(stored)"},
		{"kept only the receipt", deed.StateCommitted, func(_ *deed.Question, op *deed.Operation) { op.Result = nil }, "replay(result_discarded)"},
		{"repeats its own continuation", deed.StateCommitted, func(q *deed.Question, op *deed.Operation) {
			op.AnsweredState, op.Inputs = "state", "yes"
			q.Continues, q.State, q.Inputs = true, "state", "yes"
		}, "replay(stored)"},
	},
	"FR": {
		{"is retried", deed.StateFailedRetryable, nil, "begin"},
		{"is too early", deed.StateFailedRetryable, func(_ *deed.Question, op *deed.Operation) { op.RetryAt = noon.Add(1) }, "failed(retry_later)"},
	},
	"FF": {
		{"is final", deed.StateFailedFinal, nil, "failed(refused)"},
		{"was not sent", deed.StateFailedFinal, func(_ *deed.Question, op *deed.Operation) { op.Reason = deed.ReasonTooOld }, "failed(too_old)"},
	},
	"UN `outcome_unknown`, `tool_error`, `found_many`": {
		{"is unknown", deed.StateUncertain, nil, "uncertain(outcome_unknown)"},
		{"ended with an error result", deed.StateUncertain, func(_ *deed.Question, op *deed.Operation) { op.Reason = deed.ReasonToolError }, "uncertain(tool_error)"},
		{"was found more than once", deed.StateUncertain, func(_ *deed.Question, op *deed.Operation) { op.Reason = deed.ReasonFoundMany }, "uncertain(found_many)"},
		{"is idempotent", deed.StateUncertain, idempotent, "begin"},
		{"is idempotent, but a later one began", deed.StateUncertain, func(q *deed.Question, op *deed.Operation) { idempotent(q, op); q.View.Later = true }, "uncertain(outcome_unknown)"},
		{"has a provider key", deed.StateUncertain, providerKey(time.Hour), "begin"},
		{"has a provider key that is forgotten", deed.StateUncertain, providerKey(time.Second), "uncertain(outcome_unknown)"},
		{"has lost its lease", deed.StateExecuting, func(_ *deed.Question, op *deed.Operation) { op.LeaseExpiresAt = noon }, "uncertain(outcome_unknown)"},
	},
	"AB": {{"was closed", deed.StateAbandoned, nil, "uncertain(abandoned)"}},
	"DE": {
		{"by a person", deed.StateDenied, nil, "denied(by_person)"},
		{"by policy", deed.StateDenied, func(_ *deed.Question, op *deed.Operation) { op.Reason = deed.ReasonPolicyChanged }, "denied(policy_changed)"},
	},
	"CA": {
		{"was cancelled", deed.StateCancelled, nil, "denied(cancelled)"},
		{"was superseded", deed.StateCancelled, func(_ *deed.Question, op *deed.Operation) { op.Reason = deed.ReasonSuperseded }, "successor"},
	},
	"XP, approval lapsed": {{"is proposed again", deed.StateExpired, nil, "propose"}},
	"XP, `max_age` or `expires_at`": {
		{"ran out of time", deed.StateExpired, func(_ *deed.Question, op *deed.Operation) { op.ApprovalLapsed = false }, "expired(never_ran)"},
	},
}

func idempotent(q *deed.Question, op *deed.Operation) {
	q.Rule.Effect, op.Effect = deed.EffectIdempotent, deed.EffectIdempotent
}

func providerKey(retention time.Duration) func(*deed.Question, *deed.Operation) {
	return func(q *deed.Question, op *deed.Operation) {
		q.Rule.ProviderKey = &deed.ProviderKeyRule{Retention: retention}
		op.Attempts[0].ProviderKey = "5f0e"
	}
}

func TestTableOfExistingOperations(t *testing.T) {
	rows := section(t, "| effective status | decision(reason)")
	documentedRows := map[string]string{}
	for _, row := range rows {
		documentedRows[row[0]] = row[1]
	}
	for _, row := range [][]string{{"EX, lease expired", ""}} {
		delete(documentedRows, row[0]) // "writes UN, then as UN": a situation of UN
	}
	for name, cell := range documentedRows {
		situations, known := existing[name]
		if !known {
			t.Errorf("the documented row %q has no situation", name)
			continue
		}
		got := map[string]string{}
		for _, s := range situations {
			word := s.decideExisting(deed.ProvenanceRuntime)
			if word != s.want {
				t.Errorf("row %q, %s: got %s, want %s", name, s.name, word, s.want)
			}
			got[s.name] = word
		}
		if name == "EX, lease live" {
			got["nobody waits any more"] = "in_progress(lease_live)"
			s := situation{state: deed.StateExecuting}
			q := question(deed.ProvenanceRuntime)
			q.View.Operation = inState(s.state)
			r, _ := q.Decide()
			if word := r.Answered(); word != "in_progress(lease_live)" {
				t.Errorf("out of patience: %s", word)
			}
		}
		if name == "XP, approval lapsed" {
			got["the new proposal"] = "awaiting_approval(pending)"
		}
		compareRow(t, name, cell, got)
	}
	for name := range existing {
		if _, known := documentedRows[name]; !known {
			t.Errorf("the test's row %q is not documented", name)
		}
	}
}

// precedence are the numbered rows of table 4, in order.
var precedence = []situation{
	{"other principal", deed.StateCommitted, func(q *deed.Question, _ *deed.Operation) { q.Principal.Actor = "other" }, "denied(not_yours)"},
	{"other upstream", deed.StateCommitted, func(q *deed.Question, _ *deed.Operation) { q.Facts.UpstreamIdentity = "elsewhere" }, "denied(upstream_changed)"},
	{"rules gone", deed.StateCommitted, func(q *deed.Question, op *deed.Operation) { op.FingerprintRules = "gone" }, "denied(fingerprint_unverifiable)"},
	{"corrected arguments of a derived key", deed.StateFailedFinal, func(q *deed.Question, _ *deed.Operation) { other(q) }, "new generation"},
	{"other arguments", deed.StateExecuting, func(q *deed.Question, _ *deed.Operation) { other(q) }, "conflict(idempotency_key_reused_with_different_effect)"},
	{"the caller's own fingerprint differs", deed.StateCommitted, func(q *deed.Question, _ *deed.Operation) { q.Claimed = "sha256:b" }, "denied(fingerprint_mismatch)"},
	{"a model's key is too old", deed.StateCommitted, func(q *deed.Question, op *deed.Operation) {
		q.View.Found.Provenance = deed.ProvenanceModel
		op.DeliveredAt = noon.Add(-25 * time.Hour)
		op.SettledAt = noon.Add(-25 * time.Hour)
	}, "conflict(key_reused_after_window)"},
}

func other(q *deed.Question) {
	q.Fingerprints = map[deed.Digest]deed.Fingerprint{"rules": "sha256:b"}
}

func TestTableOfPrecedence(t *testing.T) {
	rows := section(t, "## 4. An operation exists")
	if len(rows) != len(precedence)+1 {
		t.Fatalf("documented rows: %d, in the test: %d", len(rows), len(precedence)+1)
	}
	for i, s := range precedence {
		word := s.decideExisting(deed.ProvenanceDerived)
		if word != s.want {
			t.Errorf("row %d, %s: got %s, want %s", i+1, s.name, word, s.want)
		}
		if strings.Contains(word, "(") {
			compareRow(t, rows[i][1], rows[i][2], map[string]string{s.name: word})
		} else if !strings.Contains(rows[i][2], word) {
			t.Errorf("row %d: got %s, documented %s", i+1, word, rows[i][2])
		}
	}
}

func TestNewGenerationsOpenOnlyAfterWhatIsSettled(t *testing.T) {
	opens := map[deed.State]bool{
		deed.StateFailedRetryable: true, deed.StateFailedFinal: true, deed.StateDenied: true,
		deed.StateCancelled: true, deed.StateExpired: true,
	}
	for _, state := range deed.States()[1:] {
		for _, provenance := range []deed.Provenance{deed.ProvenanceDerived, deed.ProvenanceRuntime, deed.ProvenanceModel} {
			s := situation{state: state, change: func(q *deed.Question, _ *deed.Operation) { other(q) }}
			word := s.decideExisting(provenance)
			want := "conflict(idempotency_key_reused_with_different_effect)"
			if opens[state] && provenance == deed.ProvenanceDerived {
				want = "new generation"
			}
			if word != want {
				t.Errorf("%s key, %s: got %s, want %s", provenance, state, word, want)
			}
		}
	}
	toolError := situation{state: deed.StateUncertain, change: func(q *deed.Question, op *deed.Operation) {
		other(q)
		op.Reason = deed.ReasonToolError
	}}
	if word := toolError.decideExisting(deed.ProvenanceDerived); word != "new generation" {
		t.Errorf("after a tool error: %s", word)
	}
}

func TestAnOlderGenerationGivesItsStoredAnswer(t *testing.T) {
	for _, test := range []struct {
		state deed.State
		want  string
	}{
		{deed.StateFailedRetryable, "failed(refused)"},
		{deed.StateCommitted, "replay(stored)"},
		{deed.StateUncertain, "uncertain(outcome_unknown)"},
	} {
		q := question(deed.ProvenanceDerived)
		newest := inState(deed.StateFailedFinal)
		newest.Fingerprint = "sha256:newer"
		older := inState(test.state)
		older.ID = "op_0"
		q.View.Operation, q.View.Lineage = newest, []*deed.Operation{older}
		if _, word := q.Decide(); word != test.want {
			t.Errorf("%s: got %s, want %s", test.state, word, test.want)
		}
	}
}

func TestHandOver(t *testing.T) {
	reader := deed.Principal{Tenant: "acme", Actor: "successor", Rights: []deed.Right{deed.RightCall, deed.RightRead}}
	for _, test := range []struct {
		name       string
		provenance deed.Provenance
		state      deed.State
		rights     []deed.Right
		want       string
	}{
		{"a runtime key continues another actor's work", deed.ProvenanceRuntime, deed.StateFailedRetryable, reader.Rights, "begin"},
		{"a model key only shows it", deed.ProvenanceModel, deed.StateFailedRetryable, reader.Rights, "failed(refused)"},
		{"without the right to call it is only shown", deed.ProvenanceRuntime, deed.StateAuthorized, []deed.Right{deed.RightRead}, "denied(forbidden)"},
		{"a reader gets the replay", deed.ProvenanceModel, deed.StateCommitted, reader.Rights, "replay(stored)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := situation{state: test.state, change: func(q *deed.Question, _ *deed.Operation) {
				q.Principal = reader
				q.Principal.Rights = test.rights
			}}
			if word := s.decideExisting(test.provenance); word != test.want {
				t.Errorf("got %s, want %s", word, test.want)
			}
		})
	}
}
