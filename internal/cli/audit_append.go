// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed/audit"
	"github.com/deed-run/deed/internal/daemon"
)

// databaseTrail is longer than any transaction of a gateway on PostgreSQL, which
// ends by itself.
const databaseTrail = time.Minute

func (a *app) auditAppendCommand() *cobra.Command {
	at := place{reads: true}
	var dir, key string
	var every, trail time.Duration
	var c *cobra.Command
	c = &cobra.Command{
		Use: "append --log FOLDER --key FILE", Short: "Log what the ledger has recorded since", Args: cobra.NoArgs,
		Long: `Appends the events that the ledger recorded after the newest record of the log,
and signs a checkpoint. With --every it goes on until it is interrupted. It only
reads the ledger, beside the gateways that use it.

On PostgreSQL events of the last minute wait for the next time (--trail): another
gateway may still commit one that is placed before them. Never append to a copy of
the folder, nor to one that was restored: a log that grows twice is two histories.`,
		Example: "  deed audit append --log audit --key audit.key --config deed.yaml\n  deed audit append --log audit --key audit.key --config deed.yaml --every 10s",
		RunE: action(func(ctx context.Context, _ []string) error {
			if every < 0 || trail < 0 {
				return fail(exitUsage, "--every and --trail are spans of time, such as 10s; nothing was done")
			}
			private, err := privateKey(key)
			if err != nil {
				return err
			}
			return a.appendAudit(ctx, at, audit.Follower{Dir: dir, Key: private, Trail: trail}, every, c.Flags().Changed("trail"))
		}),
	}
	at.tenantFlags(c)
	logFlag(c, &dir)
	c.Flags().StringVar(&key, "key", "", "`file` of the private key")
	c.Flags().DurationVar(&every, "every", 0, "`time` after which to look again; without it once")
	c.Flags().DurationVar(&trail, "trail", 0, "leave out what is younger than this `time` (1m on PostgreSQL unless given)")
	_ = c.MarkFlagRequired("key")
	return c
}

func (a *app) appendAudit(ctx context.Context, at place, f audit.Follower, every time.Duration, trailed bool) (err error) {
	core, who, err := a.operator(ctx, at)
	if err != nil {
		return err
	}
	defer a.closing(core, &err)
	f.Ledger, f.Tenant = core.Ledger, who.Tenant
	if core.OnDatabase() && !trailed {
		f.Trail = databaseTrail
	}
	for first := true; ; first = false {
		more, now, err := f.Append(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
		case first:
			return toldAudit(err)
		default:
			a.note(err.Error() + "; it is tried again in " + every.String())
		}
		if err == nil && (more > 0 || every == 0) {
			if err := a.printAppended(more, now, core); err != nil {
				return err
			}
		}
		if every == 0 || ctx.Err() != nil {
			return nil
		}
		select {
		case <-core.Clock.After(every):
		case <-ctx.Done():
			return nil
		}
	}
}

func (a *app) printAppended(more int64, now audit.Checkpoint, core *daemon.Core) error {
	if a.json {
		return a.printJSON(map[string]any{"appended": more, "records": now.Size, "root": now.Root, "checkpoint": string(now.Signed)})
	}
	return a.print(fmt.Sprintf("%s  %s: %d records, %d of them new, root %s", core.Clock.Now().UTC().Format(time.RFC3339), now.Name, now.Size, more, now.Root))
}
