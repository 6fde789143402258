// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector"
	"github.com/deed-run/deed/connector/mail"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/policy"
)

// LoadConfig reads a configuration with the catalogue of providers and what
// the descriptions of its connectors say of their tools.
func LoadConfig(path string, getenv func(string) string) (*policy.Config, error) {
	return policy.LoadWith(path, policy.Options{
		Env: getenv, Catalogue: connector.CatalogueEntry,
		Describe: func(c policy.Connector) (map[string][]byte, error) { return describe(c, getenv) },
	})
}

// made is a set of tools that this process makes itself. Close it if it can be.
type made interface {
	mcpgate.Local
	deed.Reconciler
}

// makeTools makes the tools of a connector. Nothing is connected to.
func makeTools(c policy.Connector, getenv func(string) string) (made, error) {
	if c.Kind == policy.ConnectorMail {
		return mail.Load(c.Source, c.File, c.Line, getenv)
	}
	return connector.Load(c.Source, c.File, c.Line, func(name string) (string, bool) {
		value := getenv(name)
		return value, value != ""
	})
}

// describe says what the description of a connector says of guarding its
// tools: entries of tools as they could be written.
func describe(c policy.Connector, getenv func(string) string) (map[string][]byte, error) {
	tools, err := makeTools(c, getenv)
	if err != nil {
		return nil, err
	}
	defer closeTools(tools)
	listed, err := toolsOf(tools)
	if err != nil {
		return nil, err
	}
	entries := map[string][]byte{}
	for _, tool := range listed {
		entries[tool.Name] = mailEntry(tool)
		if own, ok := tools.(*connector.Connector); ok {
			entries[tool.Name], _ = own.Entry(tool.Name)
		}
	}
	return entries, nil
}

// madeTool is what matters here of a tool's definition.
type madeTool struct {
	Name        string `json:"name"`
	Annotations struct {
		ReadOnly bool `json:"readOnlyHint"`
	} `json:"annotations"`
}

func toolsOf(tools mcpgate.Local) ([]madeTool, error) {
	raw, err := tools.Tools(context.Background())
	if err != nil {
		return nil, err
	}
	var list struct {
		Tools []madeTool `json:"tools"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("listing its tools: %w", err)
	}
	return list.Tools, nil
}

// mailEntry is the entry of a mail tool. A server may take ten minutes over the
// end of a text (RFC 5321 section 4.5.3.2.6), and a large attachment its time to
// leave.
func mailEntry(tool madeTool) []byte {
	if tool.Annotations.ReadOnly {
		return []byte("effect: read_only\n")
	}
	entry := "effect: non_idempotent\nmarker: {into: /operation_marker}\nmax_processing: 10m\ntimeout: 15m\nlease: 2m\n"
	if tool.Name == "mail_draft_create" {
		entry += "identity: creation\n"
	}
	return []byte(entry)
}

func closeTools(tools mcpgate.Local) {
	if closer, ok := tools.(io.Closer); ok {
		_ = closer.Close()
	}
}

// Servers lists what the tools of a configuration belong to: MCP servers and
// connectors, by name.
func Servers(config *policy.Config) []string {
	return slices.Sorted(maps.Keys(serversOf(config)))
}

func serversOf(config *policy.Config) map[string]bool {
	names := map[string]bool{}
	for name := range config.Upstreams {
		names[name] = true
	}
	for name := range config.Connectors {
		names[name] = true
	}
	return names
}

// ListServer asks a server of the configuration for its tools: see [ListTools].
func ListServer(ctx context.Context, config *policy.Config, name string, environ []string, stderr io.Writer) ([]policy.ListedTool, error) {
	if up, ok := config.Upstreams[name]; ok {
		return ListTools(ctx, NewUpstream(up, environ, deed.SystemClock{}, stderr, func(string) {}), name)
	}
	tools, err := makeTools(config.Connectors[name], Options{Environ: environ}.getenv)
	if err != nil {
		return nil, fmt.Errorf("connector %s: %w", name, err)
	}
	defer closeTools(tools)
	listed, err := ListTools(ctx, mcpgate.LocalUpstream{Tools: tools, Name: name}, name)
	account, mails := tools.(*mail.Account)
	for i := range listed {
		listed[i].Made, listed[i].Looks = true, mails && len(account.Lookups()) > 0
	}
	return listed, err
}

// openConnectors makes the configured connectors, which are upstreams like any
// other.
func (c *Core) openConnectors(getenv func(string) string) error {
	c.locals = map[string]mcpgate.Local{}
	for name, described := range c.Config.Connectors {
		tools, err := makeTools(described, getenv)
		if err != nil {
			return &ConfigError{fmt.Errorf("connector %s: %w; nothing was started", name, err)}
		}
		c.locals[name] = tools
	}
	return nil
}

// Of a connector that looks effects up by itself: how long that goes on, and
// how late its reads may be, where its tools' entries do not say.
const (
	lookFor = 24 * time.Hour
	lookLag = time.Minute
)

// connected adds to rules where this process sends and looks, and lets what
// connectors look up by themselves be looked up.
type connected struct {
	deed.Policy
	core *Core
}

// Rule returns the inner rule, with the places of calls and look-ups and the
// times of the latter.
func (p connected) Rule(tool deed.Tool, facts deed.ToolFacts) deed.Rule {
	rule := p.Policy.Rule(tool, facts)
	rule.SentTo = p.core.identityOf(tool.Upstream())
	if probe := p.core.Config.ToolSettings(tool).Probe; probe != nil && probe.Tool.Upstream() != tool.Upstream() {
		rule.LookedUpAt = p.core.identityOf(probe.Tool.Upstream())
	}
	if rule.GiveUp > 0 || rule.Planting == nil {
		return rule
	}
	if _, looks := p.core.locals[tool.Upstream()].(*mail.Account); looks {
		rule.GiveUp, rule.ReadLag, rule.ReconcileInline = lookFor, lookLag, true
	}
	return rule
}

// identityOf tells where the effects of an upstream's tools go.
func (c *Core) identityOf(upstream string) string {
	if identity := c.Config.UpstreamIdentity(upstream); identity != "" {
		return identity
	}
	switch tools := c.locals[upstream].(type) {
	case *connector.Connector:
		return strings.TrimSuffix(tools.Account(), "/")
	case *mail.Account:
		return tools.Identity()
	}
	return ""
}
