// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
)

func (a *app) opsResolveCommand() *cobra.Command {
	at := place{reads: true}
	var res deed.Resolution
	var committed, notApplied, abandon bool
	var many manyOf
	c := &cobra.Command{
		Use:   "resolve (OPERATION | --all) (--committed [--remote-id ID...] | --not-applied | --abandon) --reason TEXT",
		Short: "Say what became of an uncertain operation", Args: cobra.MaximumNArgs(1),
		Long: `Records your decision about an operation whose outcome nobody knows. Look at the
provider first: --not-applied permits another attempt, and if the first one did
happen, that is a second effect. --abandon closes the question without an answer;
a late proof still counts. --force decides although the process that sent it may
still be at work.

--committed is final. On an operation that is committed already it adds an id that
no receipt names yet; another id beside one that is known says that it happened
more than once, books its amount once more, and needs --force.

--all decides about every uncertain operation that --tool and --actor select, one
after the other; --dry-run shows which they are and what would be refused.
--new-provider-key gives the next attempt another key of the provider's, for
providers that keep answering with the failure that they stored.`,
		Example: `  deed ops resolve op_01KB7Q5W2M9X4T6R8V0C3E5G7H --committed --remote-id pay_1 --reason "seen at the provider"
  deed ops resolve op_01KB7Q5W2M9X4T6R8V0C3E5G7H --not-applied --reason "not in the provider's list of today"`,
		RunE: action(func(ctx context.Context, args []string) error {
			switch {
			case committed:
				res.Outcome = deed.ResolveCommitted
			case notApplied:
				res.Outcome = deed.ResolveNotApplied
			case abandon:
				res.Outcome = deed.ResolveAbandon
			}
			if strings.TrimSpace(res.Reason) == "" {
				return fail(exitUsage, "--reason is empty; nothing was decided; say how you know")
			}
			if len(res.RemoteIDs) > 0 && !committed {
				return fail(exitUsage, "--remote-id goes with --committed only; nothing was decided")
			}
			switch {
			case many.all && len(args) > 0:
				return fail(exitUsage, "--all stands beside an operation; nothing was decided; keep one of the two")
			case many.all:
				return a.resolveMany(ctx, at, many, res)
			case len(args) == 0:
				return fail(exitUsage, "no operation is named; nothing was decided; name one, or write --all")
			case many.dry || many.tool != "" || many.actor != "":
				return fail(exitUsage, "--dry-run, --tool and --actor go with --all; nothing was decided")
			}
			if res.NewProviderKey && !notApplied {
				return fail(exitUsage, "--new-provider-key goes with --not-applied only; nothing was decided")
			}
			return a.decide(ctx, at, args[0], func(d desk, id deed.OperationID) (*deed.Operation, error) {
				op, err := d.Resolve(ctx, id, res)
				if err == nil && !recorded(op, res.RemoteIDs) {
					a.note("not every --remote-id was recorded: the receipts already name " + strings.Join(remoteIDs(op), ", "))
				}
				return op, err
			})
		}),
	}
	at.operatorFlags(c)
	c.Flags().BoolVar(&committed, "committed", false, "it happened")
	c.Flags().BoolVar(&notApplied, "not-applied", false, "it did not happen")
	c.Flags().BoolVar(&abandon, "abandon", false, "nobody can find out")
	c.Flags().StringArrayVar(&res.RemoteIDs, "remote-id", nil, "the provider's `id` of what was made; may be repeated")
	c.Flags().StringVar(&res.Reason, "reason", "", "how you know")
	c.Flags().BoolVar(&res.Force, "force", false, "decide although it may still be under way, or say that it happened more than once")
	c.Flags().BoolVar(&res.NewProviderKey, "new-provider-key", false, "let the next attempt carry another key of the provider's (with --not-applied)")
	c.Flags().BoolVar(&many.all, "all", false, "decide about every uncertain operation that the filters select")
	c.Flags().BoolVar(&many.dry, "dry-run", false, "show what would be decided, and write nothing (with --all)")
	c.Flags().StringVar(&many.tool, "tool", "", "`upstream/tool` (with --all)")
	c.Flags().StringVar(&many.actor, "actor", "", "who began it (with --all)")
	c.MarkFlagsMutuallyExclusive("committed", "not-applied", "abandon")
	c.MarkFlagsOneRequired("committed", "not-applied", "abandon")
	_ = c.MarkFlagRequired("reason")
	return c
}

func recorded(op *deed.Operation, ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		return !slices.ContainsFunc(op.Receipts, func(r deed.Receipt) bool { return r.RemoteID == id })
	})
}

func (a *app) opsCancelCommand() *cobra.Command {
	return a.reasonedCommand("cancel OPERATION", "Let nothing more be tried; what is already sent stands",
		`Ends an operation that waits for a person, is authorized, or failed and may be
retried: nothing is ever sent for it again, and its key stays taken. One that is
under way is not called back: what it was sent counts, and no further attempt is
made. An uncertain operation keeps its doubt, which deed ops resolve settles.`,
		`  deed ops cancel op_01KB7Q5W2M9X4T6R8V0C3E5G7H --reason "ordered elsewhere"`,
		func(ctx context.Context, d desk, id deed.OperationID, reason string) (*deed.Operation, error) {
			return d.Cancel(ctx, id, reason)
		})
}

func (a *app) opsReopenCommand() *cobra.Command {
	return a.reasonedCommand("reopen OPERATION", "Let a finally failed operation be tried again under its key",
		`Takes back that a failure is final. It sends nothing: the next call under the
operation's key makes another attempt, for as long as its tool's max_age allows from
now. An operation that was committed, denied or cancelled is not reopened: a new
action needs a new key.`,
		`  deed ops reopen op_01KB7Q5W2M9X4T6R8V0C3E5G7H --reason "the account is funded now"`,
		func(ctx context.Context, d desk, id deed.OperationID, reason string) (*deed.Operation, error) {
			return d.Reopen(ctx, id, reason)
		})
}

func (a *app) reasonedCommand(use, short, long, example string, apply func(context.Context, desk, deed.OperationID, string) (*deed.Operation, error)) *cobra.Command {
	at := place{reads: true}
	var reason string
	c := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: cobra.ExactArgs(1),
		RunE: action(func(ctx context.Context, args []string) error {
			return a.decide(ctx, at, args[0], func(d desk, id deed.OperationID) (*deed.Operation, error) {
				return apply(ctx, d, id, reason)
			})
		}),
	}
	at.operatorFlags(c)
	c.Flags().StringVar(&reason, "reason", "", "why; kept in the history; may be left out")
	return c
}

// decide applies a person's decision and shows where the operation stands now.
func (a *app) decide(ctx context.Context, at place, id string, apply func(desk, deed.OperationID) (*deed.Operation, error)) (err error) {
	d, err := a.desk(ctx, at)
	if err != nil {
		return err
	}
	defer leave(d, &err)
	op, err := apply(d, deed.OperationID(id))
	if err != nil {
		return at.failedDecision(err, id, d.Now())
	}
	now := d.Now()
	if a.json {
		s := show(op, now)
		s.Next = nextSteps(op, now, d.Outlook(op), at)
		return a.printJSON(s)
	}
	return a.print(decided(op, now, at)...)
}

// decided says where the operation stands, and of a commit what is recorded.
func decided(op *deed.Operation, now time.Time, at place) []string {
	text := string(op.ID) + " is " + standing(op, now)
	switch {
	case op.EffectiveStatus(now) == deed.StatusUncertain && op.NoMoreAttempts:
		return []string{
			text + "; the cancellation is noted: nothing more is tried; what was sent may have happened, and it ends as cancelled or committed when that is known",
			"how to settle it: " + at.command("ops show", string(op.ID)),
		}
	case op.Status == deed.StatusExecuting && op.NoMoreAttempts:
		return []string{text + "; the cancellation is noted: nothing more is tried, what was sent stands"}
	case op.Status == deed.StatusAwaitingApproval && op.Approval != nil && op.Approval.Quorum > 1:
		return []string{fmt.Sprintf("%s; %d of %d consents are there, nothing is sent before the last", text, len(op.Approval.Votes), op.Approval.Quorum)}
	case op.EffectiveStatus(now) == deed.StatusAuthorized:
		return append([]string{text}, sender(op, at)...)
	case op.Status != deed.StatusCommitted:
		return []string{text}
	}
	if ids := remoteIDs(op); len(ids) > 0 && op.Diverged {
		return []string{text + "; its receipts name " + strings.Join(ids, ", "), "it happened more than once: where it has an amount, each receipt is booked"}
	} else if len(ids) > 0 {
		return []string{text + "; its receipts name " + strings.Join(ids, ", ")}
	}
	return []string{
		text + "; no receipt names the provider's id, and repeats get it as it is",
		"to add the id: " + at.command("ops resolve", string(op.ID), `--committed --remote-id ID --reason "how you know"`),
	}
}

// remoteIDs are what the receipts name at the provider.
func remoteIDs(op *deed.Operation) []string {
	var ids []string
	for _, r := range op.Receipts {
		if r.RemoteID != "" {
			ids = append(ids, plain(r.RemoteID))
		}
	}
	return ids
}

// closing closes what a command opened; its error counts only where there is
// no other.
func (a *app) closing(core *daemon.Core, err *error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if closed := core.Close(ctx); closed != nil && *err == nil {
		*err = closed
	}
}
