// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
)

var update = flag.Bool("update", false, "rewrite the golden texts")

var sampleTime = time.Date(2026, 11, 3, 14, 0, 0, 0, time.UTC)

// sampleOperation has everything that a text may mention, and arguments that none may.
func sampleOperation(status deed.Status, reason deed.Reason) *deed.Operation {
	op := &deed.Operation{
		ID: "op_01ARZ3NDEKTSV4RRFFQ69G5FAV", Tenant: "t", Actor: "agent", Tool: "crm/create_ticket", Effect: deed.EffectNonIdempotent,
		Key:       deed.Key{Family: deed.FamilyOperation, Text: "ticket:incident-7:first", Provenance: deed.ProvenanceModel},
		Arguments: []byte(`{"secret":"STORED-ARGUMENT"}`), Status: status, Reason: reason, CreatedAt: sampleTime, SettledAt: sampleTime.Add(time.Minute),
		DispatchBy: sampleTime.Add(24 * time.Hour), Approval: &deed.Approval{ExpiresAt: sampleTime.Add(time.Hour)},
		Attempts: []deed.Attempt{{Number: 1, BegunAt: sampleTime}}, Version: 3,
		Message: "the <b>queue</b> is\nclosed\u202e; see [this](https://evil.example/approve) for more words than anybody would want to read in one sentence that goes on and on and on",
	}
	if status == deed.StatusCommitted {
		op.Receipts = []deed.Receipt{{RemoteSystem: "crm", RemoteID: "T-42", CommittedAt: sampleTime}}
		op.Message = ""
	}
	return op
}

// standing is where an operation stands when it is answered with a decision.
func standing(decision deed.Decision, reason deed.Reason) deed.Status {
	switch decision {
	case deed.Replay, deed.Conflict:
		return deed.StatusCommitted
	case deed.InProgress:
		if reason == deed.ReasonAwaitingInput {
			return deed.StatusAwaitingInput
		}
		return deed.StatusExecuting
	case deed.AwaitingApproval:
		return deed.StatusAwaitingApproval
	case deed.Uncertain:
		return deed.StatusUncertain
	case deed.Failed:
		return deed.StatusFailed
	case deed.Expired:
		return deed.StatusExpired
	}
	if reason == deed.ReasonTwinUndelivered {
		return deed.StatusCommitted
	}
	return deed.StatusDenied
}

const doneOnce = `{"content":[]}`

type sample struct {
	name string
	s    situation
}

func samples() []sample {
	var list []sample
	add := func(name string, a deed.Answer, hasKey bool) {
		a.At, a.RetryAfter, a.Received = sampleTime, 25*time.Second, "sha256:new"
		d := &described{Definition: &Definition{Name: "create_ticket"}}
		if hasKey {
			d.own = keyArgument
		}
		d.rule.Effect, d.rule.Key.Need = deed.EffectNonIdempotent, deed.NeedRuntime
		if !hasKey {
			name += ", no key property"
		}
		around := surroundings{reads: "list_tickets", tells: true}
		around.runs = true
		about := situate(a, d, around)
		about.sample = sampleKey(d.Name, []byte(`{"arguments":{"incident_id":"INC/7"}}`))
		list = append(list, sample{name, about})
	}
	for _, hasKey := range []bool{true, false} {
		for _, row := range deed.ReasonTable() {
			for _, reason := range row.Reasons {
				status := standing(row.Decision, reason)
				op := sampleOperation(status, reason)
				a := deed.Answer{Decision: row.Decision, Reason: reason, Operation: op, Effective: status}
				if row.Decision == deed.Replay && reason != deed.ReasonResultDiscarded {
					a.Result = []byte(doneOnce)
				}
				switch reason {
				case deed.ReasonMissingOperationKey, deed.ReasonBadKey, deed.ReasonBadArguments, deed.ReasonKeyCarriersDisagree, deed.ReasonStoreUnavailable, deed.ReasonUnauthenticated, deed.ReasonNotYours:
					a.Operation, a.Text = nil, "11 of at least 16 characters"
				case deed.ReasonNotSent, deed.ReasonRetryLater:
					op.Retryable = true
				case deed.ReasonAbsent, deed.ReasonResolved:
					op.DecidedBy, op.Retryable = "operator:ada", true
				case deed.ReasonByPerson, deed.ReasonTwinDenied, deed.ReasonCancelled:
					op.DecidedBy = "operator:ada"
				}
				add(fmt.Sprintf("%s %s", row.Decision, reason), a, hasKey)
			}
		}
		for _, status := range []deed.Status{deed.StatusUncertain, deed.StatusFailed, deed.StatusCancelled, deed.StatusAwaitingInput, deed.StatusExecuting} {
			op := sampleOperation(status, deed.ReasonOutcomeUnknown)
			if status == deed.StatusFailed {
				op.Reason = deed.ReasonRefused
			}
			add("execute, status "+string(status), deed.Answer{Decision: deed.Execute, Reason: op.Reason, Operation: op, Effective: status}, hasKey)
		}
		digest := "sha256:" + strings.Repeat("9f2c", 16)
		for _, x := range [][2]string{
			{"digest changed", "the proposal is now " + digest + `, and the decision names "` + digest + `": look at it again and name the one that it is now; nothing was changed`},
			{"digest cut", "write the whole digest, " + digest + `: that of the decision was cut, "sha256:9f2c" is how it begins; the proposal has not changed, and nothing was changed`},
		} {
			add("denied approval_invalid, "+x[0], deed.Answer{Decision: deed.Denied, Reason: deed.ReasonApprovalInvalid, Operation: sampleOperation(deed.StatusAwaitingApproval, deed.ReasonPending), Text: x[1]}, hasKey)
		}
		byItself := sampleOperation(deed.StatusAwaitingApproval, deed.ReasonPending)
		byItself.Approval = &deed.Approval{ExpiresAt: sampleTime.Add(9 * time.Minute), Run: deed.RunOnApproval, AskAgain: 300}
		add("awaiting_approval pending, runs by itself", deed.Answer{Decision: deed.AwaitingApproval, Reason: deed.ReasonPending, Operation: byItself, Effective: deed.StatusAwaitingApproval}, hasKey)
		add("denied budget_exceeded, with its numbers", deed.Answer{Decision: deed.Denied, Reason: deed.ReasonBudgetExceeded, Budget: &deed.BudgetRefusal{Budget: "refunds", Currency: "EUR", Amount: 250_500_000, Left: 100_000_000, Held: 50_000_000}}, hasKey)
		for _, current := range []string{currentFound, currentGone, currentUnknown} {
			add("replay stored, current "+current, deed.Answer{Decision: deed.Replay, Reason: deed.ReasonStored, Operation: sampleOperation(deed.StatusCommitted, ""), Effective: deed.StatusCommitted, Result: []byte(doneOnce), Current: current}, hasKey)
		}
		add("uncertain outcome_unknown, looked up", deed.Answer{Decision: deed.Uncertain, Reason: deed.ReasonOutcomeUnknown, Operation: sampleOperation(deed.StatusUncertain, deed.ReasonOutcomeUnknown), Effective: deed.StatusUncertain, Rule: deed.Rule{GiveUp: time.Hour}}, hasKey)
		soon := sampleOperation(deed.StatusUncertain, deed.ReasonOutcomeUnknown)
		soon.Attempts[0].Probing = &deed.Probing{Tries: 1, NextAt: sampleTime.Add(90 * time.Second)}
		add("uncertain outcome_unknown, looked up again later", deed.Answer{Decision: deed.Uncertain, Reason: deed.ReasonOutcomeUnknown, Operation: soon, Effective: deed.StatusUncertain, Rule: deed.Rule{GiveUp: time.Hour}}, hasKey)
		left := sampleOperation(deed.StatusUncertain, deed.ReasonOutcomeUnknown)
		left.Attempts[0].Probing = &deed.Probing{Tries: 9, GaveUpAt: sampleTime}
		add("uncertain outcome_unknown, look-ups given up", deed.Answer{Decision: deed.Uncertain, Reason: deed.ReasonOutcomeUnknown, Operation: left, Effective: deed.StatusUncertain, Rule: deed.Rule{GiveUp: time.Hour}}, hasKey)
		for _, by := range []string{deed.ByOperator + "ada", deed.ByReconcile + "search", deed.ByWebhook} {
			stated := sampleOperation(deed.StatusCommitted, "")
			stated.Receipts[0].EstablishedBy = by
			add("replay result_discarded, established by "+by, deed.Answer{Decision: deed.Replay, Reason: deed.ReasonResultDiscarded, Operation: stated, Effective: deed.StatusCommitted}, hasKey)
		}
		cancelled := sampleOperation(deed.StatusUncertain, deed.ReasonOutcomeUnknown)
		cancelled.NoMoreAttempts = true
		add("uncertain outcome_unknown, cancelled since", deed.Answer{Decision: deed.Uncertain, Reason: deed.ReasonOutcomeUnknown, Operation: cancelled, Effective: deed.StatusUncertain}, hasKey)
		same := sampleOperation(deed.StatusUncertain, deed.ReasonOutcomeUnknown)
		same.Fingerprint = "sha256:new"
		add("uncertain twin_unresolved, same content", deed.Answer{Decision: deed.Uncertain, Reason: deed.ReasonTwinUnresolved, Operation: same, Effective: deed.StatusUncertain}, hasKey)
		add("uncertain twin_unresolved, of another actor", deed.Answer{Decision: deed.Uncertain, Reason: deed.ReasonTwinUnresolved}, hasKey)
		add("execute tool_error", deed.Answer{Decision: deed.Execute, Reason: deed.ReasonToolError, Operation: sampleOperation(deed.StatusUncertain, deed.ReasonToolError), Effective: deed.StatusUncertain}, hasKey)
		idempotent := sampleOperation(deed.StatusUncertain, deed.ReasonOutcomeUnknown)
		idempotent.Effect = deed.EffectIdempotent
		add("uncertain outcome_unknown, idempotent tool", deed.Answer{Decision: deed.Uncertain, Reason: deed.ReasonOutcomeUnknown, Operation: idempotent, Effective: deed.StatusUncertain}, hasKey)
	}
	return list
}

func TestTheTextsAreTheGoldenOnes(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "tool: %s\n\nkey: %s\n\ninstructions: %s\n\n", sentenceTool, sentenceKey, sentenceInstructions)
	for _, x := range samples() {
		p := x.s.prose()
		fmt.Fprintf(&b, "%s\n  %s\n  next: %s\n  say: %s\n\n", x.name, p.Text, p.Next, p.Say)
	}
	const file = "testdata/texts.golden"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTheTextsKeepTheRules(t *testing.T) {
	for _, x := range samples() {
		t.Run(x.name, func(t *testing.T) {
			p := x.s.prose()
			lower := strings.ToLower(p.Text)
			if n := len(strings.Fields(p.Text)); n == 0 || n > 80 {
				t.Errorf("%d words: %s", n, p.Text)
			}
			if p.Next == "" || p.Say == "" {
				t.Errorf("next and say are not set: %+v", p)
			}
			banned := []string{"unique", "delivered", "sent to the recipient", "stored-argument", "https://", "<b>", "\u202e", "\n"}
			if x.s.answer.Decision == deed.Uncertain || x.s.answer.Effective == deed.StatusUncertain {
				banned = append(banned, "try again")
			}
			if !x.s.hasKey {
				banned = append(banned, "new key", "new idempotency_key", "rename the key", "same key", "keep the key")
			}
			for _, word := range banned {
				if strings.Contains(lower, word) {
					t.Errorf("%q stands in: %s", word, p.Text)
				}
			}
			sent := strings.Contains(p.Text, "was sent at")
			if x.s.answer.Decision == deed.Denied && (sent || !strings.Contains(lower, "not sent") && !strings.Contains(lower, "nothing was")) {
				t.Errorf("a denial does not say that nothing was sent: %s", p.Text)
			}
		})
	}
}

func TestAConflictNamesTheToolOfTheActionThatExists(t *testing.T) {
	answer := deed.Answer{Decision: deed.Conflict, Reason: deed.ReasonKeyReused, Operation: &deed.Operation{ID: "op_1", Tool: "mail/mail.send"}}
	d := &described{Definition: &Definition{Name: "pay.refund"}}
	text := situate(answer, d, surroundings{}).prose().Text
	if !strings.Contains(text, "an action of another tool, mail.send") || strings.Contains(text, "pay.refund action") {
		t.Error(text)
	}
}
