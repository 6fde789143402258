// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/audit"
)

func (a *app) auditVerifyCommand() *cobra.Command {
	at := place{reads: true}
	var dir, key string
	var since []string
	var alone bool
	c := &cobra.Command{
		Use: "verify --log FOLDER --verifier KEY", Short: "Compare a log with its checkpoint, earlier ones, and the ledger", Args: cobra.NoArgs,
		Long: `Reads the whole log. The tree over its records must have the root that was
signed, also at the size of every earlier checkpoint that you kept (--since), and
the ledger must still have every event as it was logged, and the receipts that its
operation had then. Exit code 1 means that something is different.

Only checkpoints that were out of reach of whoever changed the ledger prove that
nobody made the log anew: keep some elsewhere.`,
		Example: "  deed audit verify --log audit --verifier audit.key.pub --since kept/2026-03-01 --config deed.yaml\n  deed audit verify --log audit --verifier audit.example.org/acme+1c22d8a2+AZ... --log-only",
		RunE: action(func(ctx context.Context, _ []string) error {
			verifier, err := verifierKey(key)
			if err != nil {
				return err
			}
			return a.verifyAudit(ctx, at, dir, verifier, since, alone)
		}),
	}
	at.tenantFlags(c)
	logFlag(c, &dir)
	c.Flags().StringVar(&key, "verifier", "", "verifier `key` of the log, or its file")
	c.Flags().StringArrayVar(&since, "since", nil, "`file` with an earlier checkpoint; may be repeated")
	c.Flags().BoolVar(&alone, "log-only", false, "do not look at a ledger")
	_ = c.MarkFlagRequired("verifier")
	return c
}

func (a *app) verifyAudit(ctx context.Context, at place, dir, verifier string, since []string, alone bool) (err error) {
	var earlier []audit.Checkpoint
	for _, file := range since {
		signed, err := os.ReadFile(file)
		if err != nil {
			return fail(exitUsage, "--since: %w; nothing was verified", err)
		}
		c, err := audit.ReadCheckpoint(signed, verifier)
		if err != nil {
			return fail(exitRefused, "--since %s: %w; nothing was verified", file, err)
		}
		earlier = append(earlier, c)
	}
	log, err := audit.Open(dir, verifier)
	if err != nil {
		return toldAudit(err)
	}
	var ledger audit.Ledger
	var tenant deed.Tenant
	if !alone {
		core, who, opened := a.operator(ctx, at)
		if opened != nil {
			return opened
		}
		defer a.closing(core, &err)
		ledger, tenant = core.Ledger, who.Tenant
	}
	report, err := log.Verify(ctx, ledger, tenant, earlier...)
	if err != nil {
		return toldAudit(err)
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		err = a.print(auditLines(report, len(earlier), alone)...)
	}
	if err == nil && report.Found > 0 {
		err = exitWith(exitFailed)
	}
	return err
}

func auditLines(r audit.Report, earlier int, alone bool) []string {
	lines := []string{
		fmt.Sprintf("the log %s is what its checkpoint says: %d records, root %s", r.Name, r.Size, r.Root),
		fmt.Sprintf("it has %s begun, %s answered from the record, %s refused as conflicts",
			some(r.Begun, "attempt"), some(r.Replays, "repeat"), some(r.Conflicts, "call")),
	}
	if earlier > 0 {
		lines = append(lines, fmt.Sprintf("it grew from %s that you kept, and from nothing else", some(int64(earlier), "checkpoint")))
	}
	switch {
	case alone:
		return append(lines, "no ledger was looked at")
	case r.Found == 0:
		return append(lines, fmt.Sprintf("the ledger has these events in their order, and the receipts that there were; %s not logged yet: deed audit append", some(r.Waiting, "newer event")))
	}
	rows := [][]string{{"DIFFERENT", "RECORD", "EVENT", "OPERATION"}}
	for _, f := range r.Findings {
		number := "-"
		if f.Record >= 0 {
			number = fmt.Sprint(f.Record)
		}
		rows = append(rows, []string{meaning[f.Kind], number, string(f.Event), orDash(string(f.Operation))})
	}
	lines = append(append(lines, "THE LEDGER IS NOT WHAT WAS LOGGED: "+some(r.Found, "difference")), table(rows)...)
	if more := r.Found - int64(len(r.Findings)); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

// meaning says what each kind of finding is.
var meaning = map[audit.FindingKind]string{
	audit.EventChanged:    "the event was changed",
	audit.EventGone:       "the event was taken out",
	audit.EventUnlogged:   "the event was put in, or committed late",
	audit.EventMoved:      "the event was moved",
	audit.EventRepeated:   "the event is there twice",
	audit.ReceiptsChanged: "receipts were changed",
}

func some(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
