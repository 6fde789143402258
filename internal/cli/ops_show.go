// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
)

func (a *app) opsShowCommand() *cobra.Command {
	var at place
	var arguments bool
	c := &cobra.Command{
		Use: "show OPERATION", Short: "Show one operation: what was sent, its history, what may be done next", Args: cobra.ExactArgs(1),
		Example: "  deed ops show op_01KB7Q5W2M9X4T6R8V0C3E5G7H\n  deed ops show op_01KB7Q5W2M9X4T6R8V0C3E5G7H --arguments",
		RunE: action(func(ctx context.Context, args []string) (err error) {
			d, err := a.desk(ctx, at)
			if err != nil {
				return err
			}
			defer leave(d, &err)
			op, err := d.Get(ctx, deed.OperationID(args[0]))
			if err != nil {
				if !errors.Is(err, deed.ErrNotFound) {
					return err
				}
				return at.lookElsewhere(err)
			}
			events, err := d.Events(ctx, op.ID)
			if err != nil {
				return err
			}
			now := d.Now()
			s := show(op, now)
			s.Events, s.Next = events, nextSteps(op, now, d.Hears(op), at.repeated())
			if arguments || a.json {
				s.Arguments, s.Result = raw(op.Arguments), raw(op.Result)
			}
			if a.json {
				return a.printJSON(s)
			}
			return a.print(a.describe(s, now)...)
		}),
	}
	at.operatorFlags(c)
	c.Flags().BoolVar(&arguments, "arguments", false, "also print the arguments and the result")
	return c
}

// lookElsewhere adds to "not found" what may help.
func (p place) lookElsewhere(err error) error {
	return fmt.Errorf("%w; nothing was done; %s shows what is in this ledger, --tenant and --ledger lead to others", err, p.command("ops list"))
}

// shellWord quotes a word for a POSIX shell where that is needed.
func shellWord(word string) string {
	safe := func(r rune) bool {
		return r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("/._-:@%+=,", r))
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !safe(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func (a *app) describe(s shown, now time.Time) []string {
	op := s.Operation
	rows := [][]string{
		{"operation", string(op.ID)}, {"status", standing(op, now)}, {"tool", string(op.Tool)}, {"effect", string(op.Effect)},
		{"tenant", string(op.Tenant)}, {"actor", string(op.Actor)},
		{"key", strings.TrimSpace(s.IdempotencyKey + " (" + string(s.Provenance) + ", " + string(s.Identity) + ")")},
		{"fingerprint", string(op.Fingerprint)}, {"matter", string(op.Matter)}, {"payload", string(op.PayloadDigest)},
		{"sent to", op.UpstreamIdentity}, {"message", op.Message}, {"decided by", op.DecidedBy},
		{"approval", approvalText(op, now)}, {"begun", when(op.CreatedAt, now)}, {"settled", when(op.SettledAt, now)}, {"delivered", when(op.DeliveredAt, now)},
		{"policy", op.PolicyRevision},
	}
	var lines []string
	kept := rows[:0]
	for _, row := range rows {
		if row[1] != "" && row[1] != "-" {
			kept = append(kept, row)
		}
	}
	lines = append(lines, table(kept)...)
	lines = append(lines, attemptLines(op, now)...)
	lines = append(lines, receiptLines(op, now)...)
	lines = append(lines, eventLines(s.Events, now)...)
	for _, part := range []struct {
		title string
		bytes json.RawMessage
	}{{"arguments", s.Arguments}, {"result", s.Result}} {
		if part.bytes != nil {
			lines = append(lines, "", part.title, "  "+plain(string(part.bytes)))
		}
	}
	if len(s.Next) > 0 {
		lines = append(lines, "", "next")
	}
	for _, n := range s.Next {
		lines = append(lines, "  "+plain(n.What))
		if n.Command != "" {
			lines = append(lines, "    "+n.Command)
		}
	}
	return lines
}

// approvalText says what consent the operation carries or waits for.
func approvalText(op *deed.Operation, now time.Time) string {
	a := op.Approval
	if a == nil {
		return ""
	}
	text := string(a.Digest)
	if len(a.Approvers) > 0 {
		text += ", approved by " + strings.Join(a.Approvers, ", ")
	}
	if a.Quorum > 1 {
		text += fmt.Sprintf(" (%d of %d)", len(a.Votes), a.Quorum)
	}
	if a.SpentAt.IsZero() {
		return text + ", until " + a.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return text + ", used " + when(a.SpentAt, now)
}

// section is a titled table, nothing when it has no rows beside its heading.
func section(title string, rows [][]string) []string {
	if len(rows) < 2 {
		return nil
	}
	lines := []string{"", title}
	for _, line := range table(rows) {
		lines = append(lines, "  "+line)
	}
	return lines
}

func attemptLines(op *deed.Operation, now time.Time) []string {
	rows := [][]string{{"NO", "BEGUN", "SEND BY", "OBSERVED", "KNOWN", "WORKER"}}
	for _, at := range op.Attempts {
		known := "may have been applied"
		switch {
		case at.Proved:
			known = "applied"
		case at.Cleared:
			known = "not applied"
		}
		observed := string(at.Outcome)
		if observed == "" {
			observed = "-"
		}
		rows = append(rows, []string{fmt.Sprint(at.Number), when(at.BegunAt, now), at.SendBy.UTC().Format(time.RFC3339), observed, known, at.Worker})
	}
	return section("attempts", rows)
}

func receiptLines(op *deed.Operation, now time.Time) []string {
	rows := [][]string{{"REMOTE SYSTEM", "REMOTE ID", "COMMITTED", "ESTABLISHED", "BY"}}
	for _, r := range op.Receipts {
		system, id := r.RemoteSystem, r.RemoteID
		if system == "" {
			system = "-"
		}
		if id == "" {
			id = "-"
		}
		rows = append(rows, []string{system, id, when(r.CommittedAt, now), r.Established, r.EstablishedBy})
	}
	return section("receipts", rows)
}

func eventLines(events []deed.Event, now time.Time) []string {
	rows := [][]string{{"AT", "EVENT", "FROM", "TO", "REASON", "ACTOR", "NOTE"}}
	for _, e := range events {
		var data struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(e.Data, &data)
		row := []string{when(e.At, now), string(e.Name), string(e.From), string(e.To), string(e.Reason), string(e.Actor), data.Message}
		for i := range row[:len(row)-1] {
			if row[i] == "" {
				row[i] = "-"
			}
		}
		rows = append(rows, row)
	}
	return section("history", rows)
}
