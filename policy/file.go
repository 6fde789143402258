// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deed-run/deed"
)

// fileReader is the target of the file's top level.
type fileReader struct{ config *Config }

func fileKeys() []key[fileReader] {
	return []key[fileReader]{
		{name: "ledger", read: func(d *decoder, at place, f *fileReader) { d.ledger(at, f.config) }},
		{name: "ledger_notifications", read: func(d *decoder, at place, f *fileReader) { d.notifications(at, f.config) }},
		{name: "listen", initial: "127.0.0.1:7391", read: func(d *decoder, at place, f *fileReader) { d.listen(at, f.config) }},
		{name: "tenant", initial: "default", read: func(d *decoder, at place, f *fileReader) { name(d, at, &f.config.Tenant) }},
		{name: "actor", initial: "local", read: func(d *decoder, at place, f *fileReader) { name(d, at, &f.config.Actor) }},
		{
			name:  "auth",
			read:  func(d *decoder, at place, f *fileReader) { block(d, at, authKeys(), f.config) },
			below: below(".", authKeys),
		},
		{
			name:  "upstreams",
			read:  func(d *decoder, at place, f *fileReader) { d.upstreams(at, f.config) },
			below: below(".*.", upstreamKeys),
		},
		{
			name:  "connectors",
			read:  func(d *decoder, at place, f *fileReader) { d.connectors(at, f.config) },
			below: below(".*.", connectorKeys),
		},
		{
			name:  "defaults",
			read:  func(d *decoder, at place, f *fileReader) { block(d, at, defaultsKeys(), &f.config.Defaults) },
			below: below(".", defaultsKeys),
		},
		{
			name:  "http",
			read:  func(d *decoder, at place, f *fileReader) { d.httpUpstreams(at, f.config) },
			below: below(".*.", httpKeys),
		},
		{
			name:  "programs",
			read:  func(d *decoder, at place, f *fileReader) { d.programs(at, f.config) },
			below: below(".*.", programKeys),
		},
		{
			name:  "budgets",
			read:  func(d *decoder, at place, f *fileReader) { d.budgets(at, f.config) },
			below: below(".*.", budgetsKeys),
		},
		{
			name:  "tools",
			read:  func(d *decoder, at place, f *fileReader) { d.tools(at, f.config) },
			below: below(".*.", toolKeys),
		},
		{
			name:  "routes",
			read:  func(d *decoder, at place, f *fileReader) { d.routes(at, f.config) },
			below: below(".*.", routeKeys),
		},
		{
			name:  "webhooks",
			read:  func(d *decoder, at place, f *fileReader) { d.webhooks(at, f.config) },
			below: below("[].", webhookKeys),
		},
		{
			name:  "confirmations",
			read:  func(d *decoder, at place, f *fileReader) { d.confirmations(at, f.config) },
			below: below(".*.", confirmationKeys),
		},
		{
			name:  "console",
			read:  func(d *decoder, at place, f *fileReader) { block(d, at, consoleKeys(), &f.config.Console) },
			below: below(".", consoleKeys),
		},
	}
}

// under makes a path of the file absolute.
func under(folder, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

func (d *decoder) listen(at place, config *Config) {
	text, ok := d.expanded(at)
	if !ok {
		return
	}
	const remedy = "write host:port, such as 127.0.0.1:7391"
	_, port, err := net.SplitHostPort(text.Text)
	if err != nil || port == "" {
		d.refuse(at, "is no address to listen on", remedy)
		return
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		d.refuse(at, "port "+port+" is none", remedy+", with a port from 0 to 65535")
		return
	}
	config.Listen = text.Text
}

// name reads a tenant or an actor.
func name[N ~string](d *decoder, at place, into *N) {
	text, ok := d.expanded(at)
	if !ok {
		return
	}
	if strings.TrimSpace(text.Text) != text.Text || strings.ContainsFunc(text.Text, func(r rune) bool { return r < ' ' }) {
		d.refuse(at, "begins or ends with white space, or holds control characters", "write a plain name")
		return
	}
	*into = N(text.Text)
}

// tools reads the entries of tools after defaults and upstreams, on which they
// build.
func (d *decoder) tools(at place, config *Config) {
	for _, e := range d.entries(at) {
		named := d.toolName(e, config)
		terms := config.termsOf(deed.Tool(e.name).Upstream())
		tool := Tool{Terms: terms, Identity: deed.FamilyOperation, Scope: deed.ScopeTenant}
		if source, ok := config.described[deed.Tool(e.name)]; ok {
			d.inherit(described(deed.Tool(e.name)), source, &tool)
		}
		block(d, e.value, toolKeys(), &tool)
		if !named {
			continue
		}
		d.checkProgram(e, &tool, config)
		d.checkTool(e, tool, terms)
		d.checkLookups(e, &tool, config, deed.Tool(e.name).Upstream())
		d.checkStatuses(e, tool, config)
		config.Tools[deed.Tool(e.name)] = tool
	}
}

func (d *decoder) toolName(e entry, config *Config) bool {
	tool := deed.Tool(e.name)
	declared := config.owners()
	switch {
	case tool.Upstream() == "" || tool.Name() == "":
		d.refuse(e.key, "names no upstream", "write upstream/tool")
	case strings.Contains(e.name, "*"):
		d.refuse(e.key, "is a pattern, and a tool is named in full", "write one entry per tool")
	case !slices.Contains(declared, tool.Upstream()):
		remedy := "declare " + tool.Upstream() + " under upstreams"
		if near := nearest(tool.Upstream(), declared); near != "" {
			remedy = "write " + near + "/" + tool.Name() + " instead, or " + remedy
		}
		d.undeclared(e.key, "upstream "+tool.Upstream()+" is not declared", remedy, "upstreams", "http", "connectors", "programs")
	default:
		return true
	}
	return false
}
