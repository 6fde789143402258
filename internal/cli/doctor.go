// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

// verdict is how bad a finding is.
type verdict string

const (
	fine    verdict = "ok"
	warning verdict = "warning"
	broken  verdict = "broken"
)

// finding is the result of one check.
type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Found   string  `json:"found"`
	Remedy  string  `json:"remedy,omitempty"`
}

func ok(check, format string, values ...any) finding {
	return finding{Check: check, Verdict: fine, Found: fmt.Sprintf(format, values...)}
}

func (f finding) as(v verdict, remedy string) finding {
	f.Verdict, f.Remedy = v, remedy
	return f
}

func (a *app) doctorCommand() *cobra.Command {
	var at place
	c := &cobra.Command{
		Use: "doctor", Short: "Check the installation; every finding says what to do", Args: cobra.NoArgs,
		Long: `Checks the version, the configuration and its servers, the ledger with its mode,
space, log, clock, fence and uncertain operations, whether HTTP APIs, connectors, mail
servers, webhooks and issuers of tokens can be reached and their secrets are set,
and whether the servers of your MCP clients run through deed. It calls no tool and
sends nothing anywhere. Exit code 1 means that something is broken; warnings do
not count.`,
		Example: "  deed doctor\n  deed doctor --config deed.yaml",
		RunE: action(func(ctx context.Context, _ []string) error {
			findings := a.examine(ctx, at)
			sick := false
			for _, f := range findings {
				sick = sick || f.Verdict == broken
			}
			var err error
			if a.json {
				err = a.printJSON(map[string]any{"healthy": !sick, "findings": findings})
			} else {
				err = a.print(a.paint(findingLines(findings), string(warning), string(broken))...)
			}
			if err == nil && sick {
				return exitWith(exitFailed)
			}
			return err
		}),
	}
	at.flags(c)
	return c
}

func findingLines(findings []finding) []string {
	var rows [][]string
	for _, f := range findings {
		text := f.Found
		if f.Remedy != "" {
			text += "; " + f.Remedy
		}
		rows = append(rows, []string{string(f.Verdict), f.Check, text})
	}
	return table(rows)
}

// examine makes every check, also after one has failed.
func (a *app) examine(ctx context.Context, at place) []finding {
	b := a.build()
	findings := []finding{ok("version", "deed %s %s", b.Version, b.Revision)}
	config, err := a.rules(at.config, policy.BareOptions{})
	switch {
	case err != nil:
		findings = append(findings, ok("configuration", "%v", err).as(broken, "correct it and run deed config check "+shellWord(at.config)))
		config = policy.BareConfig(policy.BareOptions{})
	case at.config == "":
		findings = append(findings, ok("configuration", "none given; the defaults of deed mcp hold"))
	default:
		findings = append(findings, ok("configuration", "%s is in order", at.config))
	}
	path, _, err := a.ledgerAt(at.ledger, config)
	if err != nil {
		findings = append(findings, ok("ledger", "%v", err).as(broken, ""))
	} else {
		findings = append(findings, a.examineLedger(ctx, path, config, at)...)
	}
	if len(daemon.Servers(config)) > 0 {
		findings = append(findings, a.examineUpstreams(ctx, config, at)...)
	}
	findings = append(findings, a.examineOutside(ctx, config)...)
	return append(findings, a.examineClients()...)
}
