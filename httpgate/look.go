// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"net/http"
	"strings"

	"github.com/deed-run/deed"
)

// found is what the routes say of a request.
type found struct {
	route  *Route
	values []value
	// named: a route of the list names it, and not only its method.
	named bool
	// wrong says why the request can be read in more than one way; "" when not.
	wrong string
}

const (
	manyPaths   = "the path can be read in more than one way; nothing was sent; spell it without empty and dot segments, also encoded ones"
	otherPath   = "the path is that of another route in another spelling, which the upstream may take for the same; nothing was sent; spell it as the route does, or name it in a route of its own"
	otherMethod = "the path is that of a route for GET that changes things, and servers run the same for HEAD; nothing was sent; ask with GET, or name HEAD in a route of its own"
)

// look finds the route of a request, and whether a server may find another. The
// rule is one for what is guarded and what passes. Only reads pass in any spelling,
// in a program that lists no route of their method.
func (s *side) look(r *http.Request) found {
	segments, ok := splitPath(r.URL.EscapedPath())
	if !ok {
		if s.known || !safe(r.Method) || s.routes.lists(r.Method) {
			return found{wrong: manyPaths}
		}
		return found{}
	}
	var f found
	f.route, f.values, f.named = s.routes.find(r.Method, segments)
	by := f.route
	if !f.named {
		by = nil
	}
	switch {
	case s.routes.veiled(r.Method, segments, by, s.guards):
		f.wrong = otherPath
	case f.named && f.route.Method != r.Method && s.mutates(f.route) && s.guards(f.route):
		f.wrong = otherMethod
	}
	return f
}

// guards reports whether anything is refused by a route: what only looks on refuses
// nothing, and reads are refused by conditions.
func (s *side) guards(r *Route) bool {
	rule := s.policy.Rule(r.tool(), deed.ToolFacts{})
	if rule.Mutates() {
		return rule.Mode != deed.ModeObserve
	}
	return rule.Deny != nil
}

func (s *side) mutates(r *Route) bool {
	return s.policy.Rule(r.tool(), deed.ToolFacts{}).Mutates()
}

// serves reports whether requests of a method are the route's: servers run the
// handler of GET for HEAD (RFC 9110 section 9.3.2).
func (r *Route) serves(method string) bool {
	return r.Method == method || method == http.MethodHead && r.Method == http.MethodGet
}

// lists reports whether a route names requests of a method.
func (rs *Routes) lists(method string) bool {
	for _, r := range rs.list {
		if r.serves(method) {
			return true
		}
	}
	return false
}

// folds reports whether a method that is not known is one that is, in another case:
// methods have a case (RFC 9110 section 9.1), and servers exist that do not mind it.
func (rs *Routes) folds(method string) bool {
	for _, r := range rs.byTool {
		if r.Method != method && strings.EqualFold(r.Method, method) {
			return true
		}
	}
	return false
}
