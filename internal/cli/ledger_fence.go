// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed/internal/daemon"
)

func (a *app) fenceCommand() *cobra.Command {
	at := place{reads: true}
	var since, reason string
	var lift bool
	c := &cobra.Command{
		Use: "fence [--since TIME | --lift]", Short: "After rows were lost: begin nothing without a person's word", Args: cobra.NoArgs,
		Long: `For a ledger that was restored from an older copy, or lost rows in a failover.
What was done between --since and now is not known to it: a call under an unknown
key may be the repeat of one that was sent, a failure may have been retried, an
approval used. While the fence stands, every call that would change something is
held until a person has looked at the provider and approved it (deed ops approve);
approvals that were given before do not count. Replays and reads go on.

Set it before gateways are started on the restored ledger; running ones take it
within two seconds. --lift ends it, once every caller that could repeat a call of
that window is through. Without flags it shows the fence.`,
		Example: "  deed ledger fence --since 2026-03-01T09:30:00Z --reason \"restored the copy of 09:30\"\n  deed ledger fence --lift --reason \"all runs of that day are checked\"",
		RunE: action(func(ctx context.Context, _ []string) error {
			if lift && since != "" {
				return fail(exitUsage, "--lift ends a fence and --since sets one; nothing was done; keep one of the two")
			}
			if !lift && since == "" {
				if reason != "" {
					return fail(exitUsage, "--reason goes with --since or --lift; nothing was done")
				}
				return a.showFence(ctx, at)
			}
			if strings.TrimSpace(reason) == "" {
				return fail(exitUsage, "--reason is missing; nothing was done; say what happened to the ledger, or how you know that it is over")
			}
			return a.moveFence(ctx, at, since, reason)
		}),
	}
	at.flags(c)
	c.Flags().StringVar(&since, "since", "", "`time` from which on the ledger may have lost rows, such as 2026-03-01T09:30:00Z")
	c.Flags().BoolVar(&lift, "lift", false, "end the fence")
	c.Flags().StringVar(&reason, "reason", "", "what happened, or how you know that it is over")
	return c
}

func (a *app) moveFence(ctx context.Context, at place, since, reason string) (err error) {
	core, who, err := a.operator(ctx, at)
	if err != nil {
		return err
	}
	defer a.closing(core, &err)
	var fence *daemon.Fence
	if since == "" {
		fence, err = core.LiftFence(ctx, who, reason)
	} else {
		var from time.Time
		if from, err = time.Parse(time.RFC3339, since); err != nil {
			return fail(exitUsage, "--since %q is no time; nothing was done; write it as 2026-03-01T09:30:00Z", since)
		}
		if from.After(core.Clock.Now()) {
			return fail(exitUsage, "--since %s is still to come; nothing was done; write when the copy was made, or the last row that is certain", since)
		}
		fence, err = core.SetFence(ctx, who, from, reason)
	}
	switch {
	case errors.Is(err, daemon.ErrFenceStands):
		return fail(exitRefused, "%w; nothing was changed; deed ledger fence shows it, and --lift ends it", err)
	case errors.Is(err, daemon.ErrNoFence):
		return fail(exitRefused, "%w; nothing was changed", err)
	case err != nil:
		return err
	}
	return a.printFence(fence, core.Clock.Now(), at)
}

func (a *app) showFence(ctx context.Context, at place) (err error) {
	core, _, err := a.operator(ctx, at)
	if err != nil {
		return err
	}
	defer a.closing(core, &err)
	fence, err := core.Fence(ctx)
	if err != nil {
		return err
	}
	return a.printFence(fence, core.Clock.Now(), at)
}

func (a *app) printFence(f *daemon.Fence, now time.Time, at place) error {
	if a.json {
		return a.printJSON(map[string]any{"stands": f.Stands(), "fence": f})
	}
	switch {
	case f == nil:
		return a.print("no fence: the ledger is taken to know what was done")
	case !f.Stands():
		return a.print("no fence stands; the last one was lifted by "+plain(string(f.LiftedBy))+" "+when(f.LiftedAt, now)+": "+plain(f.LiftReason),
			"what was held by it still waits: "+at.command("ops list --status awaiting_approval"))
	}
	return a.print(fenceLine(f, now), "held: "+at.command("ops list --status awaiting_approval"),
		"look at the provider from "+f.Since.Format(time.RFC3339)+" on; approve what is not there, deny what is",
		"end it: "+at.command("ledger fence --lift", `--reason "how you know"`))
}

// fenceLine says in one line that a fence stands.
func fenceLine(f *daemon.Fence, now time.Time) string {
	return "fenced: what was done between " + f.Since.Format(time.RFC3339) + " and " + f.SetAt.Format(time.RFC3339) +
		" may be lost; nothing begins without a person's word; set by " + plain(string(f.SetBy)) + " " + when(f.SetAt, now) + ": " + plain(f.Reason)
}
