// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// keyWithOrigin is a key with who named it.
func keyWithOrigin(s shown) string {
	origin := map[deed.Provenance]string{
		deed.ProvenanceModel: "named by the model", deed.ProvenanceRuntime: "named by the calling program", deed.ProvenanceDerived: "derived by the rule",
		deed.ProvenanceNone: "nobody named it",
	}[s.Provenance]
	if origin == "" {
		origin = string(s.Provenance)
	}
	if s.Identity != deed.FamilyOperation && s.Identity != "" {
		origin += ", identity " + string(s.Identity)
	}
	return strings.TrimSpace(s.IdempotencyKey + " (" + origin + ")")
}

func metaText(meta map[string]string) string {
	parts := make([]string, 0, len(meta))
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		parts = append(parts, name+"="+meta[name])
	}
	return strings.Join(parts, ", ")
}

// beware says what the evidence speaks against.
func beware(op *deed.Operation) string {
	var parts []string
	if op.Diverged {
		parts = append(parts, "two proofs name different objects at the provider: there may be two effects")
	}
	if op.Contradicted {
		parts = append(parts, "evidence speaks against what a person or message said")
	}
	if op.NoMoreAttempts {
		parts = append(parts, "it was cancelled: nothing more is tried")
	}
	return strings.Join(parts, "; ")
}

// approvalLines say what consent the operation carries or waits for.
func approvalLines(s shown, now time.Time) []string {
	a := s.Approval
	if a == nil {
		return nil
	}
	may := make([]string, 0, len(a.MayApprove))
	for _, who := range a.MayApprove {
		may = append(may, string(who))
	}
	votes := ""
	if a.Quorum > 1 {
		votes = fmt.Sprintf("%d of %d", len(a.Votes), a.Quorum)
	}
	until, used := a.ExpiresAt, when(a.SpentAt, now)
	if !a.SpentAt.IsZero() {
		until = time.Time{}
	}
	lines := append([]string{"", "approval"}, indented(facts([][2]string{
		{"because", s.Because}, {"costs", s.Costs}, {"digest", string(a.Digest)}, {"asked by", string(a.AskedBy)}, {"asked", when(a.AskedAt, now)}, {"until", when(until, now)},
		{"may approve", strings.Join(may, ", ")}, {"votes", votes}, {"revision", a.Revision}, {"used", used},
	}))...)
	for _, vote := range a.Votes {
		text := "  approved by " + string(vote.Approver) + ", " + when(vote.At, now)
		if vote.Reason != "" {
			text += ": " + vote.Reason
		}
		lines = append(lines, plain(text))
	}
	return lines
}

func attemptLines(op *deed.Operation, now time.Time, width int) []string {
	rows := [][]string{{"NO", "BEGUN", "SEND BY", "OBSERVED", "KNOWN", "WORKER"}}
	for _, at := range op.Attempts {
		known := "may have been applied"
		switch {
		case at.Proved:
			known = "applied"
		case at.Cleared:
			known = "not applied"
		}
		rows = append(rows, []string{fmt.Sprint(at.Number), when(at.BegunAt, now), at.SendBy.UTC().Format(time.RFC3339), orDash(string(at.Outcome)), known, orDash(at.Worker)})
	}
	return sectionIn(width, "attempts", rows, fit{"WORKER", 12}, fit{"WORKER", 0}, fit{"SEND BY", 0})
}

func receiptLines(op *deed.Operation, now time.Time, width int) []string {
	rows := [][]string{{"REMOTE SYSTEM", "REMOTE ID", "COMMITTED", "ESTABLISHED", "BY"}}
	for _, r := range op.Receipts {
		rows = append(rows, []string{orDash(r.RemoteSystem), orDash(r.RemoteID), when(r.CommittedAt, now), r.Established, r.EstablishedBy})
	}
	lines := sectionIn(width, "receipts", rows, fit{"BY", 12}, fit{"REMOTE SYSTEM", 12}, fit{"REMOTE SYSTEM", 0})
	for _, r := range op.Receipts {
		if r.RemoteURL != "" {
			lines = append(lines, "  "+plain(r.RemoteURL))
		}
	}
	if text := unnamedID(op); text != "" {
		lines = append(lines, "  "+plain(text))
	}
	return lines
}

// unnamedID tells of an id in the result of a committed operation whose receipt has
// none. That it is the id of what was made is a person's to say, by a rule.
func unnamedID(op *deed.Operation) string {
	if r := op.Receipt(); op.Status != deed.StatusCommitted || r == nil || r.RemoteID != "" || op.ResultIsError {
		return ""
	}
	for _, pointer := range []string{"/structuredContent/id", "/id"} {
		if id := outcome.Lookup(op.Result, pointer); id != "" {
			return fmt.Sprintf("the result has an \"id\" member, %s, which no rule names as the receipt's id; where it is, say receipt: {id: %s} in the entry of %s, for the next calls", id, pointer, op.Tool)
		}
	}
	return ""
}

// itemLines are the outcomes of the members of a batch.
func itemLines(op *deed.Operation, width int) []string {
	rows := [][]string{{"ITEM", "OUTCOME", "REMOTE ID", "REASON"}}
	for _, r := range op.Receipts {
		for _, item := range r.Items {
			rows = append(rows, []string{orDash(item.ID), string(item.Outcome), orDash(item.RemoteID), orDash(item.Reason)})
		}
	}
	return sectionIn(width, "items", rows, fit{"REASON", 12}, fit{"REASON", 0})
}

// moneyLines are what the attempts have set aside or spent.
func moneyLines(op *deed.Operation, width int) []string {
	rows := [][]string{{"ATTEMPT", "BUDGET", "AMOUNT", "STATE", "AT FIRST"}}
	for _, at := range op.Attempts {
		for _, b := range at.Bookings {
			budget, first := b.Budget, ""
			if b.Scope != "" {
				budget += " of " + b.Scope
			}
			if b.Reserved != 0 {
				first = b.Reserved.String() + " " + b.Currency
			}
			rows = append(rows, []string{fmt.Sprint(at.Number), budget, strings.TrimSpace(b.Amount.String() + " " + b.Currency), string(b.State), orDash(first)})
		}
	}
	return sectionIn(width, "money", rows, fit{"AT FIRST", 0}, fit{"BUDGET", 16})
}
