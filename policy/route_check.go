// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/deed-run/deed"
)

// routeName reads "METHOD name/path" into the route.
func (d *decoder) routeName(e entry, config *Config, route *Route, shapes map[string]string) bool {
	const remedy = "write \"POST name/path\", with a name of http"
	method, target, found := strings.Cut(e.name, " ")
	upstream, path, slash := strings.Cut(strings.TrimSpace(target), "/")
	names := slices.Sorted(maps.Keys(config.HTTP))
	switch {
	case !found || !slash || upstream == "":
		d.refuse(e.key, "is no route", remedy)
		return false
	case !slices.Contains(methods(), method):
		near := nearest(method, methods())
		if upper := strings.ToUpper(method); slices.Contains(methods(), upper) {
			near = upper
		}
		fix := "write " + listed(methods(), "or")
		if near != "" {
			fix = "write " + near + " instead"
		}
		d.refuse(e.key, "unknown method "+method, fix)
		return false
	case !slices.Contains(names, upstream):
		fix := "declare " + upstream + " under http"
		if near := nearest(upstream, names); near != "" {
			fix = "write " + near + "/" + path + " instead, or " + fix
		}
		d.undeclared(e.key, "API "+upstream+" is not declared", fix, "http")
		return false
	}
	shape, wrong := shapeOf("/" + path)
	if wrong != "" {
		d.refuse(e.key, wrong, "write literal segments, * or {name} for any one segment")
		return false
	}
	whole := method + " " + upstream + shape
	if other, twice := shapes[whole]; twice {
		d.refuse(e.key, "matches the same requests as "+other, "remove one of the two")
		return false
	}
	shapes[whole] = e.name
	route.Upstream, route.Method, route.Pattern = upstream, method, "/"+path
	return true
}

func methods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

func safeMethod(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// shapeOf is the same for paths that match the same requests.
func shapeOf(path string) (shape, wrong string) {
	names := map[string]bool{}
	for text := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		inner := strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
		switch {
		case text == "*":
			shape += "/*"
		case len(text) > 2 && text == "{"+inner+"}" && !strings.ContainsAny(inner, "{}*"):
			if names[inner] {
				return "", "the name " + inner + " stands for two segments"
			}
			names[inner] = true
			shape += "/*"
		case strings.ContainsAny(text, "*{}?#"):
			return "", "the segment " + text + " is neither a literal nor * nor {name}"
		default:
			shape += "/" + text
		}
	}
	return shape, ""
}

// checkRoute refuses what contradicts itself within a route.
func (d *decoder) checkRoute(e entry, route *Route, config *Config) {
	for _, status := range route.Busy {
		if slices.Contains(route.Refused, status) {
			d.refuse(d.inside(e.value, "busy"), "names a status that refused names too", "remove it from one of the two")
			return
		}
	}
	if route.As != "" {
		d.checkAs(e, route, config)
		return
	}
	if at, ok := d.written(e.value, "query"); ok {
		d.refuse(at, "lists arguments of the tool that as names, and there is none", "remove it: the whole query belongs to the effect, and fingerprint chooses among it as /query/name")
	}
	if safeMethod(route.Method) && route.Entry.Effect == "" {
		route.Entry.Effect = deed.EffectReadOnly
	}
	if approval := route.Entry.Approval; approval != nil {
		// A request can only be made again by whoever waits for its answer.
		at := d.inside(e.value, "approval")
		if run, ok := d.written(at, "run"); ok && !approval.OnCall {
			d.refuse(run, "is on_approval, and requests of a route are made by their callers alone", "write on_call, or remove the key")
		}
		approval.OnCall = true
	}
	d.checkTool(e, route.Entry, config.termsOf(route.Upstream))
	d.checkLookups(e, &route.Entry, config, route.Upstream)
	d.checkRoutePointers(e, route)
	d.checkRouteMarks(e, route.Entry)
}

// checkRouteMarks refuses marks outside of the body, which is all of a request
// that can hold one, and keys where there is no _meta.
func (d *decoder) checkRouteMarks(e entry, tool Tool) {
	inBody := func(name, key, pointer string) {
		if pointer != "" && !strings.HasPrefix(pointer, "/body/") {
			d.refuse(d.inside(d.inside(e.value, name), key), "leads to no place in the body of a request", "write /body"+pointer)
		}
	}
	if m := tool.Marker; m != nil {
		inBody("marker", "into", m.Into)
		inBody("marker", "append", m.Append)
	}
	if tool.ClientID != nil {
		inBody("client_id", "into", tool.ClientID.Into)
	}
	if p := tool.ProviderKey; p != nil {
		inBody("provider_key", "into", p.Into)
		if p.Meta != "" {
			d.refuse(d.inside(d.inside(e.value, "provider_key"), "meta"), "is for MCP, and a request has no _meta", "write header: or into:")
		}
	}
}

// checkAs refuses what a route says of a tool that has an entry of its own.
func (d *decoder) checkAs(e entry, route *Route, config *Config) {
	at := d.inside(e.value, "as")
	owner := route.As.Upstream()
	switch {
	case owner == "" || route.As.Name() == "":
		d.refuse(at, "names no tool", "write upstream/tool")
		return
	case !config.owns(owner):
		fix := "declare " + owner + " under upstreams or http"
		if near := nearest(owner, config.owners()); near != "" {
			fix = "write " + near + "/" + route.As.Name() + " instead, or " + fix
		}
		d.undeclared(at, "upstream "+owner+" is not declared", fix, "upstreams", "http", "connectors", "programs")
		return
	case owner != route.Upstream && (config.account(route.As) == "" || config.account(route.As) != config.HTTP[route.Upstream].Account):
		d.refuse(at, "belongs to "+owner+", whose effects are not known to go where those of "+route.Upstream+" go", "write the same account at both")
		return
	}
	for _, k := range d.entries(e.value) {
		switch k.name {
		case "as", "profile", "key", "query", "twins", "refused", "busy", "max_body":
		default:
			d.refuse(k.key, "is said by the tool that as names", "write it at tools."+string(route.As))
		}
	}
	if twins, ok := d.written(e.value, "twins"); ok && route.Entry.TwinsExecuting {
		d.refuse(d.inside(twins, "executing"), "is said by the tool that as names", "write it at tools."+string(route.As))
	}
	route.Entry = Tool{}
}

// checkRoutePointers refuses pointers that lead into no part of a request.
func (d *decoder) checkRoutePointers(e entry, route *Route) {
	check := func(at place, pointers []string) {
		for _, pointer := range pointers {
			first, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
			if !strings.HasPrefix(pointer, "/") || slices.Contains(requestParts(), first) {
				continue
			}
			remedy := "begin with /" + strings.Join(requestParts()[:5], ", /") + "; for the body write /body" + pointer
			d.refuse(d.inside(at, pointer), "pointer "+pointer+" leads into no part of a request", remedy)
		}
	}
	if at, ok := d.written(e.value, "matter"); ok {
		check(at, route.Entry.Matter)
	}
	if at, ok := d.written(e.value, "key"); ok {
		if from, ok := d.written(at, "from"); ok {
			check(from, route.Key.From)
		}
	}
	if at, ok := d.written(e.value, "budget"); ok && route.Entry.Spend != nil {
		check(d.inside(at, "amount"), []string{route.Entry.Spend.Amount})
		check(d.inside(at, "currency"), []string{route.Entry.Spend.Currency})
		if rest, wrong := strings.CutPrefix(route.Entry.Spend.Actual, "/structuredContent/"); wrong {
			d.refuse(d.inside(at, "actual"), "leads into a tool's result, and the answer of a route is its body", "write /"+rest)
		}
	}
	rules := route.Entry.Fingerprint
	if at, ok := d.written(e.value, "fingerprint"); ok {
		for name, pointers := range map[string][]string{"include": rules.Include, "exclude": rules.Exclude, "require": rules.Require} {
			if list, ok := d.written(at, name); ok {
				check(list, pointers)
			}
		}
	}
}

// requestParts are the members of the arguments of a route.
func requestParts() []string {
	return []string{"body", "form", "path", "query", "headers", "method", "type", "encoding", "body_sha256"}
}
