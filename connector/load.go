// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed/outcome"
)

// Connector serves the tools of one API. It is safe for concurrent use; Close it when it is no longer needed.
type Connector struct {
	base      *url.URL
	address   outcome.Address
	account   string
	header    http.Header
	maxBody   int64
	timeout   time.Duration
	system    string
	tools     []*tool
	lookups   []*lookup
	transport *http.Transport
}

// settings are the keys of a description before they become a Connector.
type settings struct {
	Connector
	allowPrivate bool
}

// Load reads the description of an API. file and line say where the source stands, for its problems: line is the line of its first line, 1
// for a file of its own. env resolves ${NAME} in headers and the base URL, nil for none; a name that it does not know is a problem. Errors
// are of type [*Error], and nothing was connected to.
func Load(source []byte, file string, line int, env func(name string) (string, bool)) (*Connector, error) {
	r := &reader{file: file, line: line, env: env}
	s := &settings{Connector: Connector{header: http.Header{}, maxBody: 4 << 20, timeout: 30 * time.Second}}
	if root := r.parse(source); root != nil {
		at := place{node: root}
		block(r, at, settingFields, s)
		r.complete(at, s)
	}
	if len(r.found) > 0 {
		return nil, problemsOf(r.found)
	}
	c := s.Connector
	c.transport = newTransport(s.allowPrivate)
	return &c, nil
}

var settingFields = []field[settings]{
	textField("system", func(s *settings) *string { return &s.system }),
	{"base_url", func(r *reader, at place, s *settings) { r.baseURL(at, s) }},
	textField("account", func(s *settings) *string { return &s.account }),
	{"headers", func(r *reader, at place, s *settings) {
		for _, m := range r.members(at) {
			text, ok := r.text(m.value)
			if !ok {
				continue
			}
			r.headerName(m.key, m.name)
			text, ok = r.resolved(m.value, text)
			if !ok {
				continue
			}
			if _, err := headerText(text); err != nil {
				r.refuse(m.value, err.Error(), "check the value, also of the variables in it")
				continue
			}
			s.header.Set(m.name, text)
		}
	}},
	truthField("allow_private", func(s *settings) *bool { return &s.allowPrivate }),
	{"max_body", func(r *reader, at place, s *settings) { r.size(at, &s.maxBody) }},
	durationField("timeout", func(s *settings) *time.Duration { return &s.timeout }),
	{"tools", func(r *reader, at place, s *settings) {
		for _, m := range r.members(at) {
			t := &tool{name: m.name, at: m.value}
			r.toolName(m)
			before := len(r.found)
			block(r, m.value, append([]field[tool]{{"provider", func(r *reader, at place, t *tool) { r.inherit(at, t) }}}, toolFields...), t)
			if len(r.found) == before {
				r.finish(t)
			}
			s.tools = append(s.tools, t)
		}
	}},
	{"lookups", func(r *reader, at place, s *settings) {
		s.lookups = r.lookups(at)
	}},
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

func (r *reader) toolName(m member) {
	if !toolName.MatchString(m.name) {
		r.refuse(m.key, "is no name of a tool", "write up to 128 letters, digits, dots, dashes and underscores")
	}
}

func (r *reader) baseURL(at place, s *settings) {
	written, ok := r.text(at)
	if !ok {
		return
	}
	text, ok := r.resolved(at, written)
	if !ok {
		return
	}
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.RawQuery != "" || base.Fragment != "" || base.User != nil {
		r.refuse(at, "is no http or https address without query and password", "write such as https://api.example.com")
		return
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	base.RawPath = strings.TrimSuffix(base.RawPath, "/")
	s.base, s.address = base, outcome.Address{URL: base.String()}
	if written != text {
		s.address.Written = strings.TrimSuffix(written, "/")
	}
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// resolved puts environment variables in. Values never stand in problems: they are secrets.
func (r *reader) resolved(at place, text string) (string, bool) {
	ok := true
	text = variable.ReplaceAllStringFunc(text, func(found string) string {
		name := found[2 : len(found)-1]
		if r.env != nil {
			if value, known := r.env(name); known && value != "" {
				return value
			}
		}
		r.refuse(at, "uses ${"+name+"}, which is not set", "set "+name+" in the environment of the gateway")
		ok = false
		return ""
	})
	return text, ok
}

// complete checks what the parts of a description say together.
func (r *reader) complete(at place, s *settings) {
	if s.base == nil && len(r.found) == 0 {
		r.refuse(at, "has no base_url", "write base_url: and the address of the API")
	}
	if len(s.tools)+len(s.lookups) == 0 && len(r.found) == 0 {
		r.refuse(at, "has no tools", "write tools: and at least one")
	}
	for _, t := range s.tools {
		if t.receipt.system == "" {
			t.receipt.system = s.system
		}
		for _, l := range t.inherited {
			if l.name == t.reconcile.lookup && !slices.ContainsFunc(s.lookups, func(own *lookup) bool { return own.name == l.name }) {
				s.lookups = append(s.lookups, l)
			}
		}
	}
	r.tie(s.tools, s.lookups)
}

func (r *reader) lookups(at place) []*lookup {
	var list []*lookup
	for _, m := range r.members(at) {
		l := &lookup{name: m.name, at: m.value}
		r.toolName(m)
		before := len(r.found)
		block(r, m.value, lookupFields, l)
		if len(r.found) == before {
			r.finishLookup(l)
		}
		list = append(list, l)
	}
	return list
}

// tie gives tools the look-ups that they name.
func (r *reader) tie(tools []*tool, list []*lookup) {
	lookups := map[string]*lookup{}
	var names []string
	for _, l := range list {
		lookups[l.name] = l
		names = append(names, l.name)
	}
	for _, t := range tools {
		if lookups[t.name] != nil {
			r.refuse(t.at, "is the name of a look-up too", "rename one of the two")
		}
		name := t.reconcile.lookup
		if name == "" {
			continue
		}
		if lookups[name] == nil {
			remedy := "write one of lookups: " + strings.Join(names, ", ")
			if near := nearest(name, names); near != "" {
				remedy = "write " + near + " instead"
			}
			r.refuse(t.at, fmt.Sprintf("names the look-up %s, which there is not", name), remedy)
			continue
		}
		if lookups[name].request.path != nil {
			r.probes(t, lookups[name])
		}
	}
}

// Account is the declared account, which stands for the upstream identity; otherwise it is the base URL as it was written.
func (c *Connector) Account() string {
	if c.account != "" {
		return c.account
	}
	return c.address.String()
}

// BaseURL is what the paths of the tools are found under. Parts of it may be secrets.
func (c *Connector) BaseURL() string { return c.base.String() }

// Close drops idle connections. Calls under way are not ended.
func (c *Connector) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}
