// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Upstream is an MCP server: a command that speaks on its standard streams, or
// a URL.
type Upstream struct {
	Name string
	// Command is the program with its arguments; empty for a URL.
	Command []Value
	// Program is what Command[0] resolves to on this machine: an absolute
	// path, or the word itself when nothing of that name is on the PATH.
	Program string
	// Env is added to the environment of the command.
	Env map[string]Value
	// Cwd is the absolute working directory of the command.
	Cwd string
	// URL is the endpoint of Streamable HTTP.
	URL Value
	// Headers go out with every request to URL.
	Headers map[string]Value
	// Account, when declared, says where effects go.
	Account string

	args []Value
	// cwd is Cwd as it was written.
	cwd string
}

func upstreamKeys() []key[Upstream] {
	return []key[Upstream]{
		{name: "command", read: func(d *decoder, at place, u *Upstream) { u.Command = d.command(at) }},
		{name: "args", read: func(d *decoder, at place, u *Upstream) { u.args = d.scalars(at, "arguments") }},
		{name: "env", read: func(d *decoder, at place, u *Upstream) { u.Env = d.variables(at) }},
		{name: "cwd", read: func(d *decoder, at place, u *Upstream) { d.folder(at, &u.cwd) }},
		{name: "url", read: func(d *decoder, at place, u *Upstream) { d.url(at, &u.URL) }},
		{name: "headers", read: func(d *decoder, at place, u *Upstream) { u.Headers = d.headers(at) }},
		{name: "account", read: func(d *decoder, at place, u *Upstream) { name(d, at, &u.Account) }},
	}
}

func (d *decoder) upstreams(at place, config *Config) {
	for _, e := range d.entries(at) {
		named := d.upstreamName(e)
		before := len(d.found)
		up := Upstream{Name: e.name}
		block(d, e.value, upstreamKeys(), &up)
		if !named {
			continue
		}
		if len(d.found) == before {
			d.checkUpstream(e, up)
		}
		up.Command, up.args = append(up.Command, up.args...), nil
		if len(up.Command) > 0 {
			up.Cwd = under(config.Folder, up.cwd)
			up.Program = resolve(up.Command[0].Text, up.Cwd, d.env)
		}
		config.Upstreams[e.name] = up
	}
}

func (d *decoder) upstreamName(e entry) bool {
	if e.name == "" || strings.ContainsFunc(e.name, func(r rune) bool { return !upstreamRune(r) }) {
		d.refuse(e.key, "is no name for an upstream", "write letters, digits, _ . and - only: it is part of URLs and tool names")
		return false
	}
	return true
}

func upstreamRune(r rune) bool {
	return r == '_' || r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}

func (d *decoder) checkUpstream(e entry, up Upstream) {
	stdio, remote := len(up.Command) > 0, up.URL.Text != ""
	switch {
	case stdio && remote:
		d.refuse(e.key, "has both command and url", "keep one of the two")
	case !stdio && !remote:
		d.refuse(e.key, "has neither command nor url", "write command: [program, argument] or url: https://...")
	case remote && (up.args != nil || up.Env != nil || up.cwd != ""):
		d.refuse(e.key, "has args, env or cwd beside url, where no command is started", "remove them")
	case stdio && up.Headers != nil:
		d.refuse(e.key, "has headers beside command, where no request is made", "remove headers, or write url")
	}
}

// command reads a program with its arguments, or a program alone.
func (d *decoder) command(at place) []Value {
	if _, text := written(at.node); text {
		value, ok := d.expanded(at)
		if !ok {
			return nil
		}
		if strings.ContainsAny(value.Source, " \t") {
			d.refuse(at, "is one text with spaces, and no shell reads it", "write a list: [program, argument]")
			return nil
		}
		return []Value{value}
	}
	values := d.scalars(at, "texts")
	if len(values) > 0 && values[0].Text == "" {
		d.refuse(at, "names no program", "write [program, argument]")
		return nil
	}
	return values
}

func (d *decoder) scalars(at place, of string) []Value {
	items := d.items(at, of)
	if items != nil && len(items) == 0 {
		d.refuse(at, "is an empty list", "write its elements, or remove the key")
	}
	var values []Value
	for _, item := range items {
		if value, ok := d.scalar(item); ok {
			values = append(values, value)
		}
	}
	return values
}

func (d *decoder) variables(at place) map[string]Value {
	values := map[string]Value{}
	for _, e := range d.entries(at) {
		if !variableName(e.name) {
			d.refuse(e.key, "is no name of a variable", "write letters, digits and _")
			continue
		}
		if value, ok := d.scalar(e.value); ok {
			values[e.name] = value
		}
	}
	return values
}

func (d *decoder) folder(at place, into *string) {
	if value, ok := d.expanded(at); ok {
		*into = filepath.Clean(value.Text)
	}
}

func (d *decoder) url(at place, into *Value) {
	value, ok := d.expanded(at)
	if !ok {
		return
	}
	const remedy = "write headers: {Authorization: \"...${VAR}\"}"
	if writtenUser(value.Source) {
		d.refuse(at, "holds a user or password, which would be shown with it", remedy)
		return
	}
	u, err := url.Parse(value.Text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "" {
		d.refuse(at, "is no URL of a server", "write http:// or https://, a host and a path")
		return
	}
	if u.User != nil {
		d.refuse(at, "holds a user or password, which would be shown with it", remedy)
		return
	}
	*into = value
}

func (d *decoder) headers(at place) map[string]Value {
	values := map[string]Value{}
	for _, e := range d.entries(at) {
		canonical := http.CanonicalHeaderKey(e.name)
		switch {
		case !headerName(e.name):
			d.refuse(e.key, "is no name of a header", "write letters, digits and -")
			continue
		case slices.Contains(ownHeaders(), canonical):
			d.refuse(e.key, "is written by deed itself for every request", "remove it")
			continue
		}
		if _, twice := values[canonical]; twice {
			d.refuse(e.key, "is written twice in another case", "remove one of the two")
			continue
		}
		value, ok := d.scalar(e.value)
		if !ok {
			continue
		}
		if strings.ContainsFunc(value.Text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			d.refuse(e.value, "holds a line break or control character", "write one line")
			continue
		}
		values[canonical] = value
	}
	return values
}

// ownHeaders are the headers that belong to a request and never to a file.
func ownHeaders() []string {
	return []string{
		"Accept", "Connection", "Content-Length", "Content-Type", "Host", "Idempotency-Key", "Last-Event-Id",
		"Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Transfer-Encoding", "X-Idempotency-Key",
	}
}

func headerName(text string) bool {
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("()<>@,;:\\\"/[]?={}", c) >= 0 {
			return false
		}
	}
	return text != ""
}

// Secrets lists the values that came from variables, longest first, so that
// whoever prints can leave them out.
func (c *Config) Secrets() []string {
	found := map[string]bool{}
	add := func(values ...Value) {
		for _, v := range values {
			if v.Secret {
				found[v.Text] = true
			}
		}
	}
	for _, address := range []Value{c.Ledger.URL, c.Ledger.Notifications} {
		add(address)
		if u, err := url.Parse(address.Text); err == nil && address.Secret && u.User != nil && passwordOf(u.User) != "" {
			found[passwordOf(u.User)] = true
		}
	}
	for _, up := range c.Upstreams {
		add(up.Command...)
		add(slices.Collect(maps.Values(up.Env))...)
		add(slices.Collect(maps.Values(up.Headers))...)
		add(up.URL)
	}
	for _, up := range c.HTTP {
		add(slices.Collect(maps.Values(up.Headers))...)
		add(up.URL)
	}
	for _, hook := range c.Webhooks {
		add(hook.URL, hook.Secret)
	}
	for _, confirmation := range c.Confirmations {
		add(confirmation.Secrets...)
	}
	if c.Auth.JWT != nil {
		add(c.Auth.JWT.JWKS)
	}
	if c.Auth.Consents != nil {
		add(c.Auth.Consents.JWKS)
	}
	if c.Auth.OIDC != nil {
		add(c.Auth.OIDC.ClientSecret)
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
}
