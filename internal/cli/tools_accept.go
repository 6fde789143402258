// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/mcpgate"
)

func (a *app) toolsDiffCommand() *cobra.Command {
	var at place
	c := &cobra.Command{
		Use: "diff UPSTREAM/TOOL", Short: "Show how a quarantined tool's definition has changed", Args: cobra.ExactArgs(1),
		Long: `A gateway pins the definition of a tool when it first meets it: its name, schemas
and hints. Once they change, every call of the tool is refused until a person has
looked. This shows the pinned definition beside the new one.`,
		Example: "  deed tools diff files/write_file",
		RunE: action(func(ctx context.Context, args []string) (err error) {
			core, who, err := a.operator(ctx, at)
			if err != nil {
				return err
			}
			defer a.closing(core, &err)
			pin, err := a.pin(ctx, core, at, args[0])
			if err != nil {
				return err
			}
			accepted, err := core.Acceptances(ctx, who.Tenant, pin.Tool)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"pin": pin, "quarantined": pin.Quarantined(), "accepted": accepted})
			}
			return a.print(a.pinLines(pin, accepted, core, at)...)
		}),
	}
	at.tenantFlags(c)
	return c
}

func (a *app) pinLines(pin mcpgate.Pin, accepted []deed.Event, core *daemon.Core, at place) []string {
	now, tool := core.Clock.Now(), plain(string(pin.Tool))
	var lines []string
	for _, e := range accepted {
		lines = append(lines, "accepted before by "+plain(string(e.Actor))+", "+when(e.At, now))
	}
	if !pin.Quarantined() {
		return append([]string{tool + " is as it was pinned " + when(pin.At, now)}, lines...)
	}
	lines = append([]string{tool + " changed " + when(pin.At, now) + "; every call is refused until the change is accepted"}, lines...)
	lines = append(lines, "", "--- pinned "+string(pin.Accepted), "+++ now    "+string(pin.Seen))
	lines = append(lines, compareJSON(pin.Definition, pin.SeenDefinition)...)
	return append(lines, "", "next: if that is what the tool should be",
		"  "+at.command("tools accept", shellWord(string(pin.Tool)), "--digest", string(pin.Seen)))
}

// pin reads a tool's pin, or says why there is none.
func (a *app) pin(ctx context.Context, core *daemon.Core, at place, name string) (mcpgate.Pin, error) {
	tool := deed.Tool(name)
	if tool.Upstream() == "" || tool.Name() == "" {
		return mcpgate.Pin{}, fail(exitUsage, "%q names no upstream; nothing was done; write UPSTREAM/TOOL, as deed ops list and deed tools show it", name)
	}
	pin, known, err := core.Pin(ctx, tool)
	switch {
	case err != nil:
		return mcpgate.Pin{}, err
	case !known:
		return mcpgate.Pin{}, fail(exitNotFound, "no gateway on this ledger has met a tool %s; nothing was done; correct the name, or lead to its ledger with --config or --ledger", name)
	}
	return pin, nil
}

func (a *app) toolsAcceptCommand() *cobra.Command {
	var at place
	var digest string
	c := &cobra.Command{
		Use: "accept UPSTREAM/TOOL", Short: "Accept the changed definition of a quarantined tool", Args: cobra.ExactArgs(1),
		Long: `Makes the changed definition the pinned one, and records that as operator:USER.
Running gateways take it with the next call. Look first: deed tools diff. With
--digest only the definition that you looked at is accepted.`,
		Example: "  deed tools accept files/write_file",
		RunE: action(func(ctx context.Context, args []string) (err error) {
			core, who, err := a.operator(ctx, at)
			if err != nil {
				return err
			}
			defer a.closing(core, &err)
			pin, err := a.pin(ctx, core, at, args[0])
			if err != nil {
				return err
			}
			look := at.command("tools diff", shellWord(args[0]))
			switch {
			case !pin.Quarantined() && digest == string(pin.Accepted):
				// What was asked for holds already.
			case !pin.Quarantined():
				return fail(exitRefused, "%s is as it was pinned; nothing was changed; there is nothing to accept", args[0])
			case digest != "" && digest != string(pin.Seen):
				return fail(exitRefused, "%s is %s now, not %s; nothing was changed; look again: %s", args[0], pin.Seen, digest, look)
			default:
				err := core.Accept(ctx, who, pin)
				if errors.Is(err, daemon.ErrDefinitionMoved) {
					return fail(exitRefused, "%w; nothing was changed; look again: %s", err, look)
				}
				if err != nil {
					return err
				}
				pin.Accepted = pin.Seen
			}
			if a.json {
				return a.printJSON(map[string]any{"tool": pin.Tool, "accepted": pin.Accepted, "by": who.Actor})
			}
			return a.print(args[0] + " is accepted as it is now; gateways take it with the next call")
		}),
	}
	at.tenantFlags(c)
	c.Flags().StringVar(&digest, "digest", "", "accept only the definition with this `digest`, which deed tools diff shows")
	return c
}
