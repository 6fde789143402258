// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

func (a *app) opsCommand() *cobra.Command {
	c := group("ops", "Look at operations and decide about them",
		a.opsListCommand(), a.opsShowCommand(), a.opsApproveCommand(), a.opsDenyCommand(), a.opsResolveCommand(), a.opsReconcileCommand(),
		a.opsRunCommand(), a.opsCancelCommand(), a.opsReopenCommand(), a.opsProveReplayCommand())
	c.Long = `Works on the ledger itself, also while gateways use it, as operator:USER with
all rights; or, with --server, through a running daemon, as whoever the token
belongs to. What you decide is in the operation's history, under that name.`
	return c
}

// listing is what deed ops list was asked for.
type listing struct {
	statuses                 []string
	tool, actor, key, before string
	meta                     map[string]string
	older                    time.Duration
	needsPerson              bool
	limit                    int
}

func (a *app) opsListCommand() *cobra.Command {
	at := place{reads: true}
	var l listing
	c := &cobra.Command{
		Use: "list", Short: "List operations, newest first", Args: cobra.NoArgs,
		Long: `Lists operations, newest first. --needs-person leaves the uncertain ones that no
look-up will move on: without the --config of their gateway, which says how they are
looked up, these are all that are uncertain.`,
		Example: "  deed ops list --status uncertain\n  deed ops list --needs-person --older-than 24h --config deed.yaml\n  deed ops list --tool tickets/create_ticket --meta run=r-17 --limit 10 --json",
		RunE:    action(func(ctx context.Context, _ []string) error { return a.listOperations(ctx, at, l) }),
	}
	at.operatorFlags(c)
	c.Flags().StringSliceVar(&l.statuses, "status", nil, "statuses, or pending, accepted, closed")
	c.Flags().BoolVar(&l.needsPerson, "needs-person", false, "only uncertain ones that only a person moves on")
	c.Flags().StringVar(&l.tool, "tool", "", "`upstream/tool`")
	c.Flags().StringVar(&l.actor, "actor", "", "who began it")
	c.Flags().StringVar(&l.key, "key", "", "idempotency key, also an alias")
	c.Flags().StringToStringVar(&l.meta, "meta", nil, "a fact that the call carried, as `name=value`; may be repeated")
	c.Flags().DurationVar(&l.older, "older-than", 0, "begun longer ago than this, such as 24h")
	c.Flags().IntVar(&l.limit, "limit", 50, "how many at most")
	c.Flags().StringVar(&l.before, "before", "", "operation `id` after which the list goes on")
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statusWords(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// check says what is wrong with the flags before anything is read.
func (l listing) check() error {
	switch {
	case l.limit < 1 || l.limit > 1000:
		return fail(exitUsage, "--limit %d: nothing was read; write a number from 1 to 1000", l.limit)
	case l.older < 0:
		return fail(exitUsage, "--older-than %s: nothing was read; write a time such as 24h", l.older)
	case l.needsPerson && len(l.statuses) > 0:
		return fail(exitUsage, "--needs-person stands beside --status; nothing was read; it is about uncertain operations: leave --status out")
	}
	_, err := parseStatuses(l.statuses)
	return err
}

// query is the listing as the ledger takes it.
func (l listing) query(now time.Time) deed.Query {
	q := deed.Query{Tool: deed.Tool(l.tool), Actor: deed.Actor(l.actor), Key: l.key, Meta: l.meta, Before: deed.OperationID(l.before), Limit: l.limit}
	q.Statuses, _ = parseStatuses(l.statuses)
	if l.older > 0 {
		if from := oldestIDAt(now.Add(-l.older)); q.Before == "" || from < q.Before {
			q.Before = from
		}
	}
	return q
}

// oldestIDAt is below the ids of all operations begun then or later: the first ten
// digits of an id are its millisecond (deed.OperationID).
func oldestIDAt(t time.Time) deed.OperationID {
	const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	digits := []byte("00000000000000000000000000")
	for i, ms := 9, t.UnixMilli(); i >= 0; i, ms = i-1, ms>>5 {
		digits[i] = crockford[ms&31]
	}
	return deed.OperationID("op_" + string(digits))
}

func statusWords() []string {
	words := []string{string(deed.FilterPending), string(deed.FilterAccepted), string(deed.FilterClosed)}
	for _, s := range deed.Statuses() {
		words = append(words, string(s))
	}
	return words
}

func parseStatuses(words []string) ([]deed.Status, error) {
	var list []deed.Status
	for _, word := range words {
		found := deed.Filter(strings.TrimSpace(word)).Statuses()
		if len(found) == 0 {
			return nil, fail(exitUsage, "--status: there is no status %q; nothing was read; use %s", word, strings.Join(statusWords(), ", "))
		}
		for _, s := range found {
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list, nil
}

func (a *app) listOperations(ctx context.Context, at place, l listing) (err error) {
	if err := l.check(); err != nil {
		return err
	}
	d, err := a.desk(ctx, at)
	if err != nil {
		return err
	}
	defer leave(d, &err)
	now := d.Now()
	list := d.List
	if l.needsPerson {
		list = d.Waiting
	}
	page, err := list(ctx, l.query(now))
	if err != nil {
		return err
	}
	page.Operations = withSent(ctx, d.Get, page.Operations, now)
	fence := fenceOver(d, page.Operations, now)
	if a.json {
		shownList := make([]shown, 0, len(page.Operations))
		for _, op := range page.Operations {
			shownList = append(shownList, show(op, now))
		}
		doc := map[string]any{"operations": shownList, "next": page.Next}
		if fence != nil {
			doc["fence"] = fence
		}
		return a.printJSON(doc)
	}
	if len(page.Operations) == 0 {
		return a.print(at.none("operations", d.Where(), l.narrowing()...)...)
	}
	if err := a.print(a.paint(operationTable(page.Operations, now, a.width()), " uncertain ")...); err != nil {
		return err
	}
	if fence != nil {
		text := "a fence stands: what waits for a person may have been done from " + fence.Since.UTC().Format(time.RFC3339) + " to " + fence.SetAt.UTC().Format(time.RFC3339) + "; " + at.command("ops show", "OPERATION") + " says what to look for before it is approved"
		if err := a.print(append([]string{""}, folded(text, a.width(), 2)...)...); err != nil {
			return err
		}
	}
	if page.Next != "" {
		return a.print("", "more: add --before "+string(page.Next))
	}
	return nil
}

// fenceOver is the fence that stands over some of the operations, nil for none.
func fenceOver(d desk, list []*deed.Operation, now time.Time) *api.Fence {
	for _, op := range list {
		if op.EffectiveStatus(now) == deed.StatusAwaitingApproval {
			return d.Outlook(op).fence
		}
	}
	return nil
}

// operationTable has a row for each operation, and of uncertain ones how long
// they have been so, what was sent and when, and what the latest look-up said; of
// those that wait for a person, what they ask for. It is
// no wider than width, 0 for any, as far as ids, statuses and keys allow, which stay
// whole: where they have no room beside tool and time, keys stand below.
func operationTable(list []*deed.Operation, now time.Time, width int) []string {
	doubts := slices.ContainsFunc(list, func(op *deed.Operation) bool { return !doubtSince(op, now).IsZero() })
	head := []string{"OPERATION", "STATUS", "TOOL", "TENANT", "ACTOR", "BEGUN"}
	if doubts {
		head = append(head, "UNCERTAIN FOR", "SENT", "LOOKED UP")
	}
	proposals := slices.ContainsFunc(list, func(op *deed.Operation) bool { return proposed(op, now) != "-" })
	if proposals {
		head = append(head, "ARGUMENTS")
	}
	rows := [][]string{append(head, "MATTER", "KEY")}
	for _, op := range list {
		row := []string{string(op.ID), standing(op, now), string(op.Tool), string(op.Tenant), string(op.Actor), when(op.CreatedAt, now)}
		if doubts {
			row = append(row, "-", "-", "-")
			if d := doubtOf(op, now); d != nil {
				row = append(row[:len(row)-3], short(max(0, now.Sub(d.Since))), d.text(now), d.LookedUp.text(now))
			}
		}
		if proposals {
			row = append(row, proposed(op, now))
		}
		rows = append(rows, append(row, orDash(matterText(op.Matter)), orDash(keyText(op.Key))))
	}
	if width <= 0 || tableWidth(rows) <= width {
		return table(rows)
	}
	return narrowTable(rows, width)
}

// inOrder is what a list of operations does without in a narrow terminal, the least
// telling first.
func inOrder() []fit {
	return []fit{
		{"TENANT", 0}, {"LOOKED UP", 0}, {"SENT", 24}, {"ARGUMENTS", 24}, {"MATTER", 16}, {"ACTOR", 12}, {"MATTER", 0}, {"ACTOR", 0},
		{"SENT", 0}, {"UNCERTAIN FOR", 0}, {"ARGUMENTS", 0}, {"BEGUN", 0}, {"TOOL", 12},
	}
}

func narrowTable(rows [][]string, width int) []string {
	var needed [][]string
	for _, row := range rows {
		needed = append(needed, []string{row[0], row[1], row[2], dateless(row[5]), row[len(row)-1]})
	}
	narrow, left := fitted(rows, width, inOrder()...)
	if tableWidth(needed) <= width && !slices.Contains(left, "SENT") {
		return append(table(narrow), leftOut(left, width)...)
	}
	keyless := make([][]string, len(rows))
	for i, row := range rows {
		keyless[i] = slices.Clone(row[:len(row)-1])
	}
	sent := slices.Index(rows[0], "SENT")
	narrow, left = fitted(keyless, width, inOrder()...)
	below := slices.Contains(left, "SENT")
	left = slices.DeleteFunc(left, func(heading string) bool { return heading == "SENT" })
	lines := table(narrow)
	list := []string{lines[0]}
	for i, line := range lines[1:] {
		second := "  " + plain(rows[i+1][len(rows[i+1])-1])
		if below && rows[i+1][sent] != "-" {
			second = cut(second+"  "+plain(rows[i+1][sent]), max(width, utf8.RuneCountInString(second)))
		}
		list = append(list, line, second)
	}
	return append(list, leftOut(left, width)...)
}

// leftOut tells what a narrow terminal does not show.
func leftOut(headings []string, width int) []string {
	if len(headings) == 0 {
		return nil
	}
	return append([]string{""}, folded("not shown here: "+strings.Join(headings, ", ")+"; a wider terminal, a pipe or --json shows all", width, 2)...)
}

// doubtSince is when an operation became uncertain, zero if it is not.
func doubtSince(op *deed.Operation, now time.Time) time.Time {
	if op.EffectiveStatus(now) != deed.StatusUncertain {
		return time.Time{}
	}
	switch op.Status {
	case deed.StatusExecuting:
		return op.LeaseExpiresAt
	case deed.StatusAwaitingInput:
		return op.InputExpiresAt
	}
	return op.SettledAt
}
