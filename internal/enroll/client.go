// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"slices"
	"time"
)

// Client is an MCP client whose configuration file this package can edit.
type Client struct {
	Name  string // as typed on a command line: "claude-code"
	Title string // as its maker writes it: "Claude Code"

	format  format
	section string // the member or table that holds the servers

	// timeoutKey is the documented member that bounds one tool call, empty
	// where the client documents none; timeoutUnit is what its number counts.
	timeoutKey  string
	timeoutUnit time.Duration
}

type format int

const (
	// plainJSON is RFC 8259: the client refuses comments itself.
	plainJSON format = iota
	// commentedJSON allows comments and trailing commas.
	commentedJSON
	// tomlFile is TOML 1.0.
	tomlFile
)

// Clients returns the supported clients in the order they are offered.
//
// Shapes follow each client's own documentation: "mcpServers" for Claude Code,
// Claude Desktop, Cursor and Gemini CLI (in its settings file), "servers" beside
// "inputs" for VS Code, "[mcp_servers.NAME]" for Codex.
func Clients() []Client {
	return []Client{
		{Name: "claude-code", Title: "Claude Code", format: plainJSON, section: "mcpServers", timeoutKey: "timeout", timeoutUnit: time.Millisecond},
		{Name: "claude-desktop", Title: "Claude Desktop", format: plainJSON, section: "mcpServers"},
		{Name: "cursor", Title: "Cursor", format: commentedJSON, section: "mcpServers"},
		{Name: "vscode", Title: "VS Code", format: commentedJSON, section: "servers"},
		{Name: "codex", Title: "Codex", format: tomlFile, section: "mcp_servers", timeoutKey: "tool_timeout_sec", timeoutUnit: time.Second},
		{Name: "gemini", Title: "Gemini CLI", format: commentedJSON, section: "mcpServers", timeoutKey: "timeout", timeoutUnit: time.Millisecond},
	}
}

// ClientNamed returns the client of that name.
func ClientNamed(name string) (Client, bool) {
	all := Clients()
	i := slices.IndexFunc(all, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, false
	}
	return all[i], true
}
