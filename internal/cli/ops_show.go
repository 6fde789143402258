// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
)

func (a *app) opsShowCommand() *cobra.Command {
	at := place{reads: true}
	var arguments bool
	c := &cobra.Command{
		Use: "show OPERATION", Short: "Show one operation: what was sent, its history, what may be done next", Args: cobra.ExactArgs(1),
		Long: `Shows where an operation stands, what is known of each attempt, what look-ups read
at the provider, the money that it holds, its history, and the exact commands that
may follow. The arguments of a proposal that waits for a person are always shown;
--arguments shows those of any other with its result, and all that look-ups read.`,
		Example: "  deed ops show op_01KB7Q5W2M9X4T6R8V0C3E5G7H\n  deed ops show op_01KB7Q5W2M9X4T6R8V0C3E5G7H --arguments",
		RunE: action(func(ctx context.Context, args []string) (err error) {
			d, err := a.desk(ctx, at)
			if err != nil {
				return err
			}
			defer leave(d, &err)
			op, err := d.Get(ctx, deed.OperationID(args[0]))
			if err != nil {
				return at.notShown(err, d.Now())
			}
			events, err := d.Events(ctx, op.ID)
			if err != nil {
				return err
			}
			now := d.Now()
			s := show(op, now)
			if s.EffectiveStatus == deed.StatusAwaitingApproval || s.EffectiveStatus == deed.StatusAuthorized {
				if s.Alike, err = alikes(ctx, d, op, now); err != nil {
					return err
				}
				s.waiting = d.Waits(ctx, op)
			}
			s.Events, s.Next = events, slices.Concat(heldBack(op, events), heldByTwin(op, s.Alike, now, at), nextSteps(op, now, d.Outlook(op), at))
			if arguments || a.json {
				s.Arguments, s.Result = raw(op.Arguments), raw(op.Result)
			} else if s.EffectiveStatus == deed.StatusAwaitingApproval {
				s.Arguments = raw(op.Arguments)
			}
			if a.json {
				return a.printJSON(s)
			}
			width := a.width()
			return a.print(foldedLines(describe(s, now, arguments, width), width)...)
		}),
	}
	at.operatorFlags(c)
	c.Flags().BoolVar(&arguments, "arguments", false, "also print the arguments, the result, and all that look-ups read")
	return c
}

// heldBack says why an operation that may be sent was not, when it was tried.
func heldBack(op *deed.Operation, events []deed.Event) []step {
	if op.Status != deed.StatusAuthorized || len(events) == 0 {
		return nil
	}
	last := events[len(events)-1]
	if last.Name != deed.EventName(deed.Denied) {
		return nil
	}
	return []step{{What: "the last try to send it was refused: " + strings.ReplaceAll(string(last.Reason), "_", " ") + "; it is tried again until it lapses"}}
}

// heldByTwin names the first operation about the same of which nobody knows whether
// it happened: until it is settled, an approved one is not sent. The refusal stands in
// that one's history.
func heldByTwin(op *deed.Operation, others []alike, now time.Time, at place) []step {
	if op.Status != deed.StatusAuthorized {
		return nil
	}
	for _, other := range others {
		if other.operation.Unresolved(now) {
			return []step{{
				What:    fmt.Sprintf("it is not sent while %s, which is about the same, is %s: settle that one first", other.ID, other.Status),
				Command: at.command("ops show", string(other.ID)),
			}}
		}
	}
	return nil
}

// notShown says of an error what may be done instead of looking.
func (p place) notShown(err error, now time.Time) error {
	if damaged, ok := errors.AsType[*deed.DamagedError](err); ok {
		return p.settleDamaged(damaged, now)
	}
	if errors.Is(err, deed.ErrNotFound) {
		return p.lookElsewhere(err)
	}
	return err
}

// lookElsewhere adds to "not found" what may help.
func (p place) lookElsewhere(err error) error {
	if p.server != "" {
		return fmt.Errorf("%w; nothing was done; %s shows what this token may see", err, p.command("ops list"))
	}
	return fmt.Errorf("%w; nothing was done; %s shows what is in this ledger, --tenant and --ledger lead to others", err, p.command("ops list"))
}

func shellWord(word string) string { return daemon.ShellWord(word) }

// describe is the whole screen of an operation: what a person decides by comes
// first, digests last; full leaves nothing of what look-ups read out. Its tables are
// no wider than width, 0 for any.
func describe(s shown, now time.Time, full bool, width int) []string {
	op := s.Operation
	lines := facts([][2]string{
		{"operation", string(op.ID)}, {"status", standing(op, now)}, {"message", op.Message}, {"decided by", op.DecidedBy},
		{"tool", string(op.Tool) + " (" + string(op.Effect) + ")"}, {"about", matterText(op.Matter)}, {"key", keyWithOrigin(s)},
		{"tenant", string(op.Tenant)}, {"actor", string(op.Actor)}, {"meta", metaText(op.Meta)},
		{"begun", when(op.CreatedAt, now)}, {settledWord(s.EffectiveStatus), when(op.SettledAt, now)}, {"delivered", when(op.DeliveredAt, now)},
		{"in place of", string(op.Supersedes)}, {"replaced by", string(op.SupersededBy)}, {"beware", beware(op)},
	})
	lines = append(lines, approvalLines(s, now)...)
	lines = append(lines, alikeLines(s.Alike, now, width)...)
	lines = append(lines, attemptLines(op, now, width)...)
	lines = append(lines, lookUpLines(op, s.Events, now, full, width)...)
	lines = append(lines, receiptLines(op, now, width)...)
	lines = append(lines, itemLines(op, width)...)
	lines = append(lines, moneyLines(op, width)...)
	lines = append(lines, historyLines(s.Events, now, width)...)
	for _, part := range []struct {
		title string
		bytes json.RawMessage
	}{{"arguments", s.Arguments}, {"result", s.Result}} {
		if part.bytes != nil {
			lines = append(lines, "", part.title, "  "+plain(string(part.bytes)))
		}
	}
	lines = append(lines, "", "digests")
	lines = append(lines, indented(facts([][2]string{
		{"fingerprint", string(op.Fingerprint)}, {"payload", string(op.PayloadDigest)}, {"result", string(op.ResultDigest)},
		{"sent to", op.UpstreamIdentity}, {"policy", op.PolicyRevision},
	}))...)
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

// settledWord names the moment from which an operation stands as it does: of one in
// doubt nothing is settled.
func settledWord(status deed.Status) string {
	if status == deed.StatusUncertain {
		return "unknown since"
	}
	return "settled"
}

// facts is a table of names and values without those that are not there.
func facts(rows [][2]string) []string {
	var kept [][]string
	for _, row := range rows {
		if row[1] != "" && row[1] != "-" {
			kept = append(kept, row[:])
		}
	}
	return table(kept)
}

func indented(lines []string) []string {
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	return lines
}

// section is a titled table, nothing when it has no rows beside its heading.
func section(title string, rows [][]string) []string { return sectionIn(0, title, rows) }

// sectionIn is a section that becomes as narrow as width by these steps.
func sectionIn(width int, title string, rows [][]string, order ...fit) []string {
	if len(rows) < 2 {
		return nil
	}
	rows, _ = fitted(rows, width-2, order...)
	return append([]string{"", title}, indented(table(rows))...)
}
