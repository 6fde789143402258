// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
)

func (a *app) hashCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "hash TOOL ARGS", Short: "Print the fingerprint of a call", Args: cobra.ExactArgs(2),
		Long: `Prints the effect fingerprint of a call: what makes two calls the same effect.
ARGS is JSON, the name of a file, or - for stdin. With --config the tool's own
fingerprint rules count, and a route is named as the configuration writes it, its
arguments being path, query, headers and body: see deed config explain.`,
		Example: `  deed hash tickets/create_ticket '{"title": "printer on fire"}'`,
		RunE: action(func(_ context.Context, args []string) error {
			e, err := a.explain(file, deed.Tool(args[0]), args[1])
			if e.Fingerprint == "" {
				if err != nil {
					return err
				}
				return fail(exitFailed, "hash %s: these arguments have no fingerprint", args[0])
			}
			if a.json {
				return a.printJSON(map[string]any{"tool": e.Tool, "fingerprint": e.Fingerprint, "canonical": e.Canonical})
			}
			return a.print(string(e.Fingerprint))
		}),
	}
	c.Flags().StringVar(&file, "config", "", "configuration `file`")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
	return c
}
