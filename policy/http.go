// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// HTTPUpstream is an HTTP API behind the reverse proxy, whose base URL for
// clients is /http/NAME.
type HTTPUpstream struct {
	Name string
	// URL is the base under which the paths of routes are found.
	URL Value
	// Headers go out with every request, over what the client sent.
	Headers map[string]Value
	// Account, when declared, says where effects go.
	Account string
	// Timeout is that of requests whose route names none; 0 for that of the
	// defaults.
	Timeout time.Duration
	// ForwardCredentials hands Authorization and Cookie of the client on.
	ForwardCredentials bool
	// KeyHeader is the header in which the routes' provider keys travel, "" when no
	// route names one.
	KeyHeader string `json:",omitempty"`
}

// Identity says where the effects of the API go: the declared account, else
// the URL as it was written.
func (u HTTPUpstream) Identity() string {
	if u.Account != "" {
		return u.Account
	}
	return strings.TrimSuffix(u.URL.Source, "/")
}

func httpKeys() []key[HTTPUpstream] {
	return []key[HTTPUpstream]{
		{name: "url", read: func(d *decoder, at place, u *HTTPUpstream) { d.baseURL(at, &u.URL) }},
		{name: "headers", read: func(d *decoder, at place, u *HTTPUpstream) { u.Headers = d.headers(at) }},
		{name: "account", read: func(d *decoder, at place, u *HTTPUpstream) { name(d, at, &u.Account) }},
		{name: "timeout", read: func(d *decoder, at place, u *HTTPUpstream) { d.duration(at, &u.Timeout) }},
		{name: "forward_credentials", initial: "false", read: func(d *decoder, at place, u *HTTPUpstream) { d.truth(at, &u.ForwardCredentials) }},
	}
}

func (d *decoder) httpUpstreams(at place, config *Config) {
	for _, e := range d.entries(at) {
		named := d.upstreamName(e)
		before := len(d.found)
		up := HTTPUpstream{Name: e.name}
		block(d, e.value, httpKeys(), &up)
		if !named {
			continue
		}
		if len(d.found) == before {
			d.checkHTTP(e, up, config)
		}
		config.HTTP[e.name] = up
	}
}

func (d *decoder) checkHTTP(e entry, up HTTPUpstream, config *Config) {
	_, authorization := up.Headers["Authorization"]
	both := config.callable(e.name)
	switch {
	case up.URL.Text == "":
		d.refuse(e.key, "has no url", "write url: https://... of the API")
	case up.ForwardCredentials && authorization:
		d.refuse(d.inside(e.value, "forward_credentials"), "hands the client's Authorization on, over which headers writes its own", "remove one of the two")
	case both && (up.Account == "" || up.Account != config.account(deed.Tool(e.name+"/"))):
		d.refuse(e.key, "has the name of an upstream or connector, so that both own the same tools", "write the same account at both, or another name")
	case up.Timeout > config.Defaults.TimeoutHard:
		d.refuse(d.inside(e.value, "timeout"), "timeout "+short(up.Timeout)+" is longer than timeout_hard "+short(config.Defaults.TimeoutHard)+", which would end the call first",
			"write defaults.timeout_hard: "+short(up.Timeout)+" or more")
	}
}

// baseURL reads an address to which paths are added.
func (d *decoder) baseURL(at place, into *Value) {
	var value Value
	d.url(at, &value)
	if value.Text == "" {
		return
	}
	if u, err := url.Parse(value.Text); err != nil || u.RawQuery != "" || u.ForceQuery {
		d.refuse(at, "holds a query, and paths are added to it", "write the address up to the path")
		return
	}
	*into = value
}

// owners lists who may own tools: MCP servers, HTTP APIs, connectors and
// programs.
func (c *Config) owners() []string {
	names := slices.Concat(slices.Collect(maps.Keys(c.Upstreams)), slices.Collect(maps.Keys(c.HTTP)), slices.Collect(maps.Keys(c.Connectors)),
		slices.Collect(maps.Keys(c.Programs)))
	slices.Sort(names)
	return slices.Compact(names)
}

// owns reports whether a name owns tools.
func (c *Config) owns(name string) bool { return slices.Contains(c.owners(), name) }

// callable reports whether the tools of a name can be called by deed itself.
func (c *Config) callable(name string) bool {
	_, isUpstream := c.Upstreams[name]
	_, isConnector := c.Connectors[name]
	return isUpstream || isConnector
}

// account is what was declared for the owner of a tool.
func (c *Config) account(tool deed.Tool) string {
	if up, ok := c.Upstreams[tool.Upstream()]; ok {
		return up.Account
	}
	if connector, ok := c.Connectors[tool.Upstream()]; ok {
		return connector.Account
	}
	if program, ok := c.Programs[tool.Upstream()]; ok {
		return program.Account
	}
	return c.HTTP[tool.Upstream()].Account
}
