// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

// configured is what a configuration sets up, in names and numbers: no secret and
// no value of a variable is among them, and nothing is connected to.
type configured struct {
	Ledger string `json:"ledger,omitempty"`
	// DefaultLedger: the file names none.
	DefaultLedger bool     `json:"ledger_is_the_default,omitempty"`
	Listen        string   `json:"listen"`
	Upstreams     []string `json:"upstreams"`
	Connectors    []string `json:"connectors"`
	HTTP          []string `json:"http"`
	Programs      []string `json:"programs"`
	Routes        int      `json:"routes"`
	Tools         int      `json:"tools"`
	Approvals     int      `json:"tools_that_wait_for_a_person"`
	LookUps       int      `json:"tools_that_are_looked_up"`
	Budgets       []string `json:"budgets"`
	Webhooks      []string `json:"webhooks"`
	Confirmations []string `json:"confirmations"`
	Tokens        int      `json:"tokens"`
	JWT           bool     `json:"jwt"`
}

func configuredBy(c *policy.Config) configured {
	out := configured{
		Ledger: ledgerWords(c), Listen: c.Listen, Upstreams: names(c.Upstreams), Connectors: names(c.Connectors), HTTP: names(c.HTTP), Programs: names(c.Programs),
		Routes: len(c.Routes), Tools: len(c.Tools), Budgets: names(c.Budgets), Confirmations: names(c.Confirmations),
		Webhooks: []string{}, Tokens: len(c.Auth.Tokens),
	}
	count := func(entry policy.Tool) {
		if entry.Approval != nil {
			out.Approvals++
		}
		if entry.Reconcile != nil || entry.Resource != nil {
			out.LookUps++
		}
	}
	for _, tool := range c.Tools {
		count(tool)
	}
	for _, route := range c.Routes {
		count(route.Entry)
	}
	out.JWT = c.Auth.JWT != nil
	for _, w := range c.Webhooks {
		// A path may be a secret (Slack): only the host is told.
		host := "an address from a variable"
		if at, err := url.Parse(w.URL.Text); err == nil && at.Host != "" && !w.URL.Secret {
			host = at.Host
		}
		out.Webhooks = append(out.Webhooks, host+" ("+w.Format+": "+strings.Join(w.Events, ", ")+")")
	}
	return out
}

// warnings are what a file that can be read leaves out, and is most likely not meant to.
func warnings(c *policy.Config) []string {
	if len(c.Upstreams)+len(c.Connectors)+len(c.HTTP)+len(c.Programs) > 0 {
		return []string{}
	}
	return []string{"it declares no upstream, connector, HTTP API or program, so there is nothing to guard; write one under upstreams:, connectors:, http: or programs:, or name the server's command: deed mcp --config FILE -- COMMAND"}
}

// writtenOut warns of secrets that stand in the file, without showing them.
func writtenOut(c *policy.Config) []string {
	var list []string
	for _, found := range c.WrittenOut() {
		list = append(list, fmt.Sprintf("%s looks like a secret that is written out; write %q there, and set the variable in the environment of deed", found.Path, found.Instead))
	}
	return list
}

// defaultLedger is the ledger of a configuration that names none, "" where it cannot be told.
func (a *app) defaultLedger() string {
	path, err := a.surroundings().DefaultLedger()
	if err != nil {
		return ""
	}
	return path
}

func names[T any](m map[string]T) []string {
	return append([]string{}, slices.Sorted(maps.Keys(m))...)
}

// ledgerWords says where the ledger is, without the password of an address.
func ledgerWords(c *policy.Config) string {
	if at := daemon.ConfiguredLedger(c); at != "" {
		return at.String()
	}
	return ""
}

func (c configured) lines() []string {
	part := func(list []string) string { return strings.Join(list, ", ") }
	number := func(n int, one string) string {
		if n == 0 {
			return ""
		}
		return many(n, one)
	}
	known := number(c.Tokens, "token")
	if c.JWT {
		known = strings.TrimPrefix(known+", JSON Web Tokens", ", ")
	}
	var tools []string
	for _, text := range []string{entries(c.Tools), waits(c.Approvals, "waits", "wait", "for a person"), waits(c.LookUps, "is", "are", "looked up")} {
		if text != "" {
			tools = append(tools, text)
		}
	}
	api := part(c.HTTP)
	if c.Routes > 0 {
		api += fmt.Sprintf(" (%s)", many(c.Routes, "route"))
	}
	ledger := c.Ledger
	if c.DefaultLedger && ledger != "" {
		ledger += " (the default: the file names none)"
	}
	return facts([][2]string{
		{"ledger", ledger}, {"listens on", c.Listen}, {"upstreams", part(c.Upstreams)}, {"connectors", part(c.Connectors)}, {"http", api}, {"programs", part(c.Programs)},
		{"tools", strings.Join(tools, ", ")}, {"budgets", part(c.Budgets)}, {"webhooks", part(c.Webhooks)},
		{"confirmations", part(c.Confirmations)}, {"tokens", known},
	})
}

func entries(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func waits(n int, one, several, what string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + one + " " + what
	}
	return fmt.Sprintf("%d %s %s", n, several, what)
}
