// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/deed-run/deed"
)

// Route says which requests to an HTTP API are one tool, and how its keys are
// spoken.
type Route struct {
	// Upstream is the name of the API in [Config.HTTP].
	Upstream string
	Method   string
	// Pattern is the path below the API's URL. A segment "*" or "{name}" stands
	// for any one segment.
	Pattern string
	// As maps the route onto a tool that is called over other transports too;
	// that tool's entry holds then.
	As deed.Tool
	// Profile is the dialect in which keys are spoken.
	Profile string
	// Key is zero where the profile says whether a key is needed.
	Key deed.KeyRule
	// Query lists, for As, the parameters that are arguments of the tool.
	Query []string
	// Headers lists the request headers that belong to the effect.
	Headers []string
	// Twins makes a keyless request a repeat of an equal one that was committed
	// less than this ago.
	Twins time.Duration
	// Refused lists status codes that prove that nothing was applied and that
	// the same request is refused again; Busy those after which it may be
	// repeated.
	Refused []int
	Busy    []int
	// MaxBody is the longest request body in bytes; 0 leaves it to the gateway.
	MaxBody int64
	// Entry is what holds for the route as for any tool: [Config.Policy] knows
	// it under [Route.Name]. It is zero with As.
	Entry Tool
}

// Name is the tool under which requests are recorded.
func (r Route) Name() deed.Tool {
	if r.As != "" {
		return r.As
	}
	return deed.Tool(r.Upstream + "/" + r.Method + " " + r.Pattern)
}

func routeKeys() []key[Route] {
	texts := func(name, of string, field func(*Route) *[]string) key[Route] {
		return key[Route]{name: name, read: func(d *decoder, at place, r *Route) { *field(r) = d.texts(at, of) }}
	}
	statuses := func(name string, field func(*Route) *[]int) key[Route] {
		return key[Route]{name: name, read: func(d *decoder, at place, r *Route) { *field(r) = d.statuses(at) }}
	}
	keys := []key[Route]{
		{name: "profile", initial: "ietf", read: func(d *decoder, at place, r *Route) {
			word(d, at, &r.Profile, "ietf", "stripe", "acp", "ucp", "adcp")
			if r.Profile == "acp" || r.Profile == "adcp" {
				// These dialects give each of those who call keys of its own.
				r.Entry.Scope = deed.ScopeActor
			}
		}},
		{name: "as", read: func(d *decoder, at place, r *Route) {
			if text, ok := d.text(at); ok {
				r.As = deed.Tool(text)
			}
		}},
		{
			name:  "key",
			read:  func(d *decoder, at place, r *Route) { d.routeKey(at, &r.Key) },
			below: below(".", keyRuleKeys),
		},
		texts("query", "parameters", func(r *Route) *[]string { return &r.Query }),
		{name: "headers", read: func(d *decoder, at place, r *Route) { r.Headers = d.effectHeaders(at) }},
		{
			name:  "twins",
			read:  func(d *decoder, at place, r *Route) { block(d, at, routeTwinKeys(), r) },
			below: below(".", routeTwinKeys),
		},
		statuses("refused", func(r *Route) *[]int { return &r.Refused }),
		statuses("busy", func(r *Route) *[]int { return &r.Busy }),
		{name: "max_body", read: func(d *decoder, at place, r *Route) { d.count(at, 1<<30, &r.MaxBody) }},
	}
	return append(keys, lifted(toolKeys(), func(r *Route) *Tool { return &r.Entry },
		"key", "twins", "identity", "failed", "is_error", "resource", "revision", "provider")...)
}

func routeTwinKeys() []key[Route] {
	return append(lifted(twinKeys(), func(r *Route) *Tool { return &r.Entry }, "within"),
		key[Route]{name: "within", read: func(d *decoder, at place, r *Route) { d.duration(at, &r.Twins) }})
}

// lifted are the keys of an inner block as those of the block around it,
// without the ones named. The reference describes what is below them once.
func lifted[Outer, Inner any](keys []key[Inner], of func(*Outer) *Inner, without ...string) []key[Outer] {
	var list []key[Outer]
	for _, k := range keys {
		if slices.Contains(without, k.name) {
			continue
		}
		list = append(list, key[Outer]{name: k.name, initial: k.initial, read: func(d *decoder, at place, into *Outer) { k.read(d, at, of(into)) }})
	}
	return list
}

// routes reads "METHOD name/path" entries, after http, defaults and tools, on
// which they build.
func (d *decoder) routes(at place, config *Config) {
	shapes := map[string]string{}
	for _, e := range d.entries(at) {
		route := Route{Profile: "ietf", Entry: Tool{Identity: deed.FamilyOperation, Scope: deed.ScopeTenant, request: true}}
		named := d.routeName(e, config, &route, shapes)
		route.Entry.Terms = config.termsOf(route.Upstream)
		before := len(d.found)
		block(d, e.value, routeKeys(), &route)
		if !named {
			continue
		}
		if len(d.found) == before {
			d.checkRoute(e, &route, config)
			d.keyHeaderOf(e, route, config)
		}
		if route.As == "" {
			config.named[route.Name()] = len(config.Routes)
		}
		config.Routes = append(config.Routes, route)
	}
}

// keyHeaderOf notes the header in which the route's provider key travels: an
// API has one for all of its routes.
func (d *decoder) keyHeaderOf(e entry, route Route, config *Config) {
	entry := route.Entry
	if route.As != "" {
		entry = config.Tools[route.As]
	}
	if entry.ProviderKey == nil || entry.ProviderKey.Header == "" {
		return
	}
	up := config.HTTP[route.Upstream]
	if up.KeyHeader != "" && !strings.EqualFold(up.KeyHeader, entry.ProviderKey.Header) {
		d.refuse(d.inside(d.inside(e.value, "provider_key"), "header"), "is another header than "+up.KeyHeader+", in which keys of this API travel", "write one header for all routes of "+route.Upstream)
		return
	}
	up.KeyHeader = entry.ProviderKey.Header
	config.HTTP[route.Upstream] = up
}

// termsOf are the terms of whatever says nothing itself: the defaults, and the
// timeout of an HTTP API.
func (c *Config) termsOf(owner string) Terms {
	terms := c.Defaults.Terms
	if timeout := c.HTTP[owner].Timeout; timeout > 0 {
		terms.Timeout = timeout
	}
	return terms
}

// routeKey reads a key rule; that a key comes in the header goes without
// saying.
func (d *decoder) routeKey(at place, into *deed.KeyRule) {
	if text, ok := written(at.node); ok && text == string(deed.NeedRuntime) {
		d.refuse(at, "is runtime, as the key of every request is", "write required, optional or {from: [...]}")
		return
	}
	d.keyRule(at, into)
}

// statuses reads a list of HTTP status codes that can prove a refusal.
func (d *decoder) statuses(at place) []int {
	var list []int
	items := d.items(at, "status codes")
	if items != nil && len(items) == 0 {
		d.refuse(at, "is an empty list", "write status codes such as 409, or remove the key")
	}
	for _, item := range items {
		status, ok := d.status(item)
		switch {
		case !ok:
		case slices.Contains(list, status):
			d.refuse(item, "is there already", "remove it")
		default:
			list = append(list, status)
		}
	}
	return list
}

func (d *decoder) status(at place) (int, bool) {
	n, number := at.node.(*ast.IntegerNode)
	if !number {
		d.wrongType(at, "a status code", "write a number from 400 to 599")
		return 0, false
	}
	status, _ := n.Value.(uint64)
	if status < 400 || status > 599 {
		text, _ := written(at.node)
		d.refuse(at, "status "+text+" cannot prove that nothing was applied", "write a number from 400 to 599")
		return 0, false
	}
	return int(status), true
}

// effectHeaders reads the names of headers that belong to an effect.
func (d *decoder) effectHeaders(at place) []string {
	var list []string
	for _, item := range d.items(at, "header names") {
		text, ok := d.text(item)
		switch {
		case !ok:
		case !headerName(text):
			d.refuse(item, "is no name of a header", "write letters, digits and -")
		case notOfTheEffect(text):
			d.refuse(item, text+" cannot belong to an effect: it is a credential, a key, or ends at every hop", "remove it")
		default:
			list = append(list, text)
		}
	}
	return list
}

func notOfTheEffect(header string) bool {
	lower := strings.ToLower(header)
	switch lower {
	case "authorization", "cookie", "proxy-authorization", "idempotency-key", "x-idempotency-key", "forwarded", "expect",
		"content-length", "host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade":
		return true
	}
	return strings.HasPrefix(lower, "deed-") || strings.HasPrefix(lower, "x-forwarded-") || strings.HasPrefix(lower, "proxy-")
}
