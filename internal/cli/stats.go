// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
)

// figures is what deed stats says.
type figures struct {
	Statuses map[deed.Status]int `json:"statuses"`
	// AtLeast lists the statuses of which there are more than were counted.
	AtLeast []deed.Status `json:"at_least,omitempty"`
	Oldest  *oldest       `json:"oldest_uncertain,omitempty"`
	// Money is what operations without a settled outcome hold, by budget and
	// currency.
	Money []heldMoney `json:"money_held"`
	// Since is where the window of the decisions begins; they are nil where the
	// API of a daemon does not tell them.
	Since     time.Time                 `json:"since,omitzero"`
	Decisions map[deed.Tool]decisionsOf `json:"decisions,omitempty"`
	// Partial: the window holds more events than were read.
	Partial bool `json:"partial,omitempty"`
}

type oldest struct {
	Operation deed.OperationID `json:"operation_id"`
	Since     time.Time        `json:"since"`
}

type heldMoney struct {
	Budget   string `json:"budget"`
	Share    string `json:"share,omitempty"`
	Currency string `json:"currency,omitempty"`
	Held     string `json:"held"`
}

// decisionsOf counts what was answered, by the decision's name; "execute" counts
// the attempts that were begun.
type decisionsOf map[string]int

func (a *app) statsCommand() *cobra.Command {
	at := place{reads: true}
	var since time.Duration
	c := &cobra.Command{
		Use: "stats", Short: "Count operations by status and decisions by tool; the oldest doubt, the money held", Args: cobra.NoArgs,
		Long: `Counts the operations by status, and what was decided about calls of each tool since
--since ago, from the recorded events: execute counts attempts that were begun. Money
held is what operations without a settled outcome keep reserved. Over --server the
daemon counts what the token may see; decisions are not told there.`,
		Example: "  deed stats\n  deed stats --since 168h --config deed.yaml --json\n  deed stats --server http://127.0.0.1:7391",
		RunE: action(func(ctx context.Context, _ []string) (err error) {
			if since <= 0 {
				return fail(exitUsage, "--since %s: nothing was read; write a time such as 24h", since)
			}
			d, err := a.desk(ctx, at)
			if err != nil {
				return err
			}
			defer leave(d, &err)
			now := d.Now()
			f, err := d.Figures(ctx, now.Add(-since))
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(f)
			}
			lines := figureLines(f, now, at)
			if len(f.Statuses) == 0 {
				lines = append(append(lines, ""), at.none("operations", d.Where())...)
			}
			return a.print(a.paint(lines, "uncertain")...)
		}),
	}
	at.operatorFlags(c)
	c.Flags().DurationVar(&since, "since", 24*time.Hour, "how far back decisions are counted")
	return c
}

// eventsAtMost bounds how many events of one tenant stats reads.
const eventsAtMost = 500_000

// Figures counts over all the tenants that the command covers.
func (d *ledgerDesk) Figures(ctx context.Context, since time.Time) (figures, error) {
	all, err := everyone(ctx, d.at, d.core, d.who)
	if err != nil {
		return figures{}, err
	}
	f := figures{Statuses: map[deed.Status]int{}, Since: since.UTC(), Decisions: map[deed.Tool]decisionsOf{}}
	held := map[heldMoney]deed.Amount{}
	for _, who := range all {
		if err := d.countOperations(ctx, who, &f, held); err != nil {
			return f, err
		}
		if err := d.countDecisions(ctx, who, since, &f); err != nil {
			return f, err
		}
	}
	f.Money = moneyOf(held)
	return f, nil
}

func (d *ledgerDesk) countOperations(ctx context.Context, who deed.Principal, f *figures, held map[heldMoney]deed.Amount) error {
	now := d.Now()
	query := deed.Query{Effective: now, Limit: 1000}
	for counted := 0; ; {
		page, err := d.core.Runtime.List(ctx, who, query)
		if err != nil {
			return err
		}
		for _, op := range page.Operations {
			f.Statuses[op.EffectiveStatus(now)]++
			if from := doubtSince(op, now); op.Unresolved(now) && !from.IsZero() && (f.Oldest == nil || from.Before(f.Oldest.Since)) {
				f.Oldest = &oldest{op.ID, from.UTC()}
			}
			for _, attempt := range op.Attempts {
				for _, b := range attempt.Bookings {
					if b.State == deed.BookingHeld {
						held[heldMoney{Budget: b.Budget, Share: b.Scope, Currency: b.Currency}] += b.Amount
					}
				}
			}
		}
		if query.Before = page.Next; query.Before == "" {
			return nil
		}
		if counted += len(page.Operations); counted >= countAtMost {
			f.AtLeast = deed.Statuses()
			return nil
		}
	}
}

// countDecisions reads the events of the window, oldest first. It begins at an
// event of the newest operation from before the window.
func (d *ledgerDesk) countDecisions(ctx context.Context, who deed.Principal, since time.Time, f *figures) error {
	query := deed.EventQuery{Tenant: who.Tenant, Limit: 1000}
	earlier, err := d.core.Runtime.List(ctx, who, deed.Query{Before: oldestIDAt(since), Limit: 1})
	if err != nil {
		return err
	}
	if len(earlier.Operations) > 0 {
		first, err := d.core.Ledger.Events(ctx, deed.EventQuery{Tenant: who.Tenant, Operation: earlier.Operations[0].ID, Limit: 1})
		if err != nil {
			return err
		}
		if len(first) > 0 {
			query.After = first[0].ID
		}
	}
	tools := map[deed.OperationID]deed.Tool{}
	for read := 0; ; {
		events, err := d.core.Ledger.Events(ctx, query)
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.At.Before(since) {
				continue
			}
			decision := decisionName(e)
			if decision == "" {
				continue
			}
			tool, err := d.toolOf(ctx, who, e, tools)
			if err != nil {
				return err
			}
			if f.Decisions[tool] == nil {
				f.Decisions[tool] = decisionsOf{}
			}
			f.Decisions[tool][decision]++
		}
		if len(events) < query.Limit {
			return nil
		}
		query.After = events[len(events)-1].ID
		if read += len(events); read >= eventsAtMost {
			f.Partial = true
			return nil
		}
	}
}

// toolOf is the tool that an event is about; events of the transition table name
// only their operation.
func (d *ledgerDesk) toolOf(ctx context.Context, who deed.Principal, e deed.Event, known map[deed.OperationID]deed.Tool) (deed.Tool, error) {
	if e.Tool != "" {
		return e.Tool, nil
	}
	if tool, ok := known[e.OperationID]; ok {
		return tool, nil
	}
	op, err := d.core.Runtime.Get(ctx, who, e.OperationID)
	switch {
	case errors.Is(err, deed.ErrNotFound), errors.Is(err, deed.ErrDamaged):
		return "", nil
	case err != nil:
		return "", err
	}
	known[e.OperationID] = op.Tool
	return op.Tool, nil
}

// decisionName is the decision that an event records, "" for any other event.
func decisionName(e deed.Event) string {
	switch e.Name {
	case deed.EventBegun, deed.EventContinued:
		return string(deed.Execute)
	}
	if slices.Contains(decisionNames(), string(e.Name)) {
		return string(e.Name)
	}
	return ""
}

func decisionNames() []string {
	return []string{
		string(deed.Execute), string(deed.Replay), string(deed.InProgress), string(deed.Uncertain), string(deed.Conflict), string(deed.Denied),
		string(deed.Failed), string(deed.Expired), string(deed.AwaitingApproval),
	}
}

func moneyOf(held map[heldMoney]deed.Amount) []heldMoney {
	list := make([]heldMoney, 0, len(held))
	for m, amount := range held {
		m.Held = amount.String()
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b heldMoney) int {
		return strings.Compare(a.Budget+a.Share+a.Currency, b.Budget+b.Share+b.Currency)
	})
	return list
}

func figureLines(f figures, now time.Time, at place) []string {
	total := 0
	rows := [][]string{{"operations", ""}}
	for _, status := range deed.Statuses() {
		n := f.Statuses[status]
		if total += n; n > 0 {
			count := fmt.Sprint(n)
			if slices.Contains(f.AtLeast, status) {
				count += " or more"
			}
			rows = append(rows, []string{"  " + string(status), count})
		}
	}
	rows[0][1] = fmt.Sprint(total)
	if f.Oldest != nil {
		rows = append(rows, []string{"oldest uncertain", string(f.Oldest.Operation) + ", since " + when(f.Oldest.Since, now)})
	} else {
		rows = append(rows, []string{"oldest uncertain", "none"})
	}
	for _, m := range f.Money {
		name := m.Budget
		if m.Share != "" {
			name += " of " + m.Share
		}
		rows = append(rows, []string{"money held", strings.TrimSpace(m.Held+" "+m.Currency) + " (" + name + ")"})
	}
	if len(f.Money) == 0 {
		rows = append(rows, []string{"money held", "none"})
	}
	lines := table(rows)
	if f.Decisions == nil {
		return append(lines, "", "decisions are counted on the ledger only: deed stats --config FILE, or --ledger")
	}
	lines = append(lines, decisionLines(f, now)...)
	if f.Oldest != nil {
		lines = append(lines, "", "next: "+at.command("ops show", string(f.Oldest.Operation)))
	}
	return lines
}

func decisionLines(f figures, now time.Time) []string {
	var names []string
	for _, name := range decisionNames() {
		for _, counts := range f.Decisions {
			if counts[name] > 0 {
				names = append(names, name)
				break
			}
		}
	}
	title := "decisions of the last " + span(now.Sub(f.Since))
	if f.Partial {
		title += " (the window holds more than were read)"
	}
	if len(names) == 0 {
		return []string{"", title, "  none"}
	}
	head := []string{"TOOL"}
	for _, name := range names {
		head = append(head, strings.ToUpper(name))
	}
	rows := [][]string{head}
	for _, tool := range slices.Sorted(maps.Keys(f.Decisions)) {
		row := []string{orDash(string(tool))}
		for _, name := range names {
			row = append(row, fmt.Sprint(f.Decisions[tool][name]))
		}
		rows = append(rows, row)
	}
	return section(title, rows)
}
