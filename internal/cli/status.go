// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
)

// summary is what deed status says.
type summary struct {
	Ledger     string              `json:"ledger"`
	Bytes      int64               `json:"bytes"`
	Tenants    []deed.Tenant       `json:"tenants"`
	Operations int                 `json:"operations"`
	Statuses   map[deed.Status]int `json:"statuses"`
	// Diverged: happened more than once. Contradicted: evidence speaks against a
	// decision.
	Diverged     int `json:"diverged,omitempty"`
	Contradicted int `json:"contradicted,omitempty"`
	// Partial: there are more operations than were counted.
	Partial bool   `json:"partial,omitempty"`
	Oldest  *shown `json:"oldest_uncertain,omitempty"`
	// Newer: a newer version wrote the ledger, so this one only reads it.
	Newer bool `json:"written_by_newer,omitempty"`
	// Fence stands, or is absent.
	Fence *daemon.Fence `json:"fence,omitempty"`
}

func (a *app) statusCommand() *cobra.Command {
	at := place{reads: true}
	c := &cobra.Command{
		Use: "status", Short: "Show the ledger: where it is, how many operations of which status, the oldest uncertain one", Args: cobra.NoArgs,
		Example: "  deed status\n  deed status --config deed.yaml --json",
		RunE: action(func(ctx context.Context, _ []string) (err error) {
			config, _, err := a.rulesFor(at)
			if err != nil {
				return err
			}
			path, _, err := a.ledgerAt(at.ledger, config)
			if err != nil {
				return err
			}
			core, who, err := a.operator(ctx, at)
			if err != nil {
				return err
			}
			defer a.closing(core, &err)
			all, err := everyone(ctx, at, core, who)
			if err != nil {
				return err
			}
			s, err := summarise(ctx, core, all)
			if err != nil {
				return err
			}
			s.Ledger = path.String()
			if s.Bytes, err = core.Size(ctx); err != nil {
				return err
			}
			// A ledger that cannot be written just now was still read above.
			s.Newer, _ = daemon.WrittenByNewer(ctx, core.Ledger)
			fence, err := core.Fence(ctx)
			if err != nil {
				return err
			}
			if fence.Stands() {
				s.Fence = fence
			}
			if a.json {
				return a.printJSON(s)
			}
			return a.print(a.paint(summaryLines(s, core.Clock.Now(), at), "uncertain")...)
		}),
	}
	at.tenantFlags(c)
	return c
}

// countAtMost bounds how many operations status looks at.
const countAtMost = 200_000

// summarise counts over all the tenants that it is given.
func summarise(ctx context.Context, core *daemon.Core, all []deed.Principal) (summary, error) {
	s := summary{Statuses: map[deed.Status]int{}}
	now := core.Clock.Now()
	for _, who := range all {
		s.Tenants = append(s.Tenants, who.Tenant)
		if err := s.count(ctx, core, who, now); err != nil {
			return s, err
		}
	}
	oldest, err := oldestUncertain(ctx, core, all)
	if oldest != nil {
		o := show(oldest, now)
		s.Oldest = &o
	}
	return s, err
}

func (s *summary) count(ctx context.Context, core *daemon.Core, who deed.Principal, now time.Time) error {
	before := deed.OperationID("")
	for s.Operations < countAtMost {
		page, err := core.Runtime.List(ctx, who, deed.Query{Effective: now, Before: before, Limit: 1000})
		if err != nil {
			return err
		}
		for _, op := range page.Operations {
			s.Operations++
			if op.Diverged {
				s.Diverged++
			}
			if op.Contradicted {
				s.Contradicted++
			}
			s.Statuses[op.EffectiveStatus(now)]++
		}
		if before = page.Next; before == "" {
			return nil
		}
	}
	s.Partial = true
	return nil
}

// oldestUncertain is the oldest of all the tenants.
func oldestUncertain(ctx context.Context, core *daemon.Core, all []deed.Principal) (*deed.Operation, error) {
	var oldest *deed.Operation
	for _, who := range all {
		op, err := core.OldestUncertain(ctx, who.Tenant)
		if err != nil {
			return nil, err
		}
		if op != nil && (oldest == nil || op.ID < oldest.ID) {
			oldest = op
		}
	}
	return oldest, nil
}

func summaryLines(s summary, now time.Time, at place) []string {
	total := fmt.Sprint(s.Operations)
	if s.Partial {
		total += " newest counted, there are more"
	}
	names := make([]string, 0, len(s.Tenants))
	for _, tenant := range s.Tenants {
		names = append(names, string(tenant))
	}
	rows := [][]string{{"ledger", s.Ledger}, {"size", size(s.Bytes)}, {"tenants", strings.Join(names, ", ")}, {"operations", total}}
	for _, status := range deed.Statuses() {
		if n := s.Statuses[status]; n > 0 {
			rows = append(rows, []string{"  " + string(status), fmt.Sprint(n)})
		}
	}
	lines := table(rows)
	for _, flag := range []struct {
		n    int
		text string
	}{{s.Diverged, "happened more than once"}, {s.Contradicted, "have evidence against what was decided"}} {
		if flag.n > 0 {
			lines = append(lines, "", fmt.Sprintf("%d of them %s: %s shows which", flag.n, flag.text, at.command("ops list")))
		}
	}
	if s.Newer {
		lines = append(lines, "", "read only: "+daemon.Newer)
	}
	if s.Fence != nil {
		lines = append(lines, "", fenceLine(s.Fence, now), "next: "+at.command("ops list --status awaiting_approval"))
	}
	if s.Oldest != nil {
		lines = append(lines, "", fmt.Sprintf("oldest uncertain: %s, %s, begun %s", s.Oldest.ID, plain(string(s.Oldest.Tool)), when(s.Oldest.CreatedAt, now)),
			"next: "+at.command("ops show", string(s.Oldest.ID)))
	}
	return lines
}
