// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/keyheader"
)

// Route says which requests are one tool, and how its keys are spoken.
type Route struct {
	// Method is an HTTP method in capitals.
	Method string
	// Pattern is a path of which a segment "*" or "{name}" stands for any one
	// segment. Values are named by name, or by their place among the "*" from 1.
	Pattern string
	// Tool names the requests in the ledger; by default "name/METHOD pattern".
	Tool deed.Tool
	// As maps the route onto a tool that is called over other transports too: the
	// arguments are the JSON body with the values of the path, and of Query, as
	// members, so that fingerprints agree. The rule is the tool's. Its upstream
	// identity must agree as well: declare the same account for both.
	As deed.Tool
	// Profile is one of [Profiles]; ietf by default.
	Profile string
	// Key says whether a key is needed and where it comes from; by default what
	// the profile says. Pointers lead into the arguments: /path/id, /query/name,
	// /headers/name, /body/order_id, /form/order_id.
	Key deed.KeyRule
	// Scope says who shares a key; by default what the profile says, and with As
	// what the tool's rule says.
	Scope deed.KeyScope
	// Fingerprint refines what belongs to the effect, by the same pointers.
	Fingerprint deed.FingerprintRules
	// Matter names the business subject, by the same pointers.
	Matter []string
	// Query lists, for As, the query parameters that are arguments of the tool.
	Query []string
	// Headers lists request headers that belong to the effect, such as the account
	// that a request acts for. They are frozen with it.
	Headers []string
	// Twins makes a keyless request a repeat of an equal one that was committed
	// less than this ago.
	Twins time.Duration
	// Effect is non_idempotent by default, and read_only for GET and HEAD.
	Effect deed.EffectClass
	// Refused lists further status codes that prove that nothing was applied and
	// that the same request is refused again; Busy those after which it may be
	// repeated. No code of 2xx or 3xx proves that.
	Refused []int
	Busy    []int
	// MaxBody is the longest request body in bytes, the Gate's by default.
	MaxBody int64
	// Rule, when set, changes the finished rule: approvals, modes, times.
	Rule func(*deed.Rule)

	name     string
	segments []segment
	speaks   *profile
}

// tool is the name under which requests are recorded.
func (r *Route) tool() deed.Tool {
	if r.As != "" {
		return r.As
	}
	return r.Tool
}

// Routes is a checked list of routes of one name. It does not change.
type Routes struct {
	name   string
	list   []*Route
	byTool map[deed.Tool]*Route
}

// NewRoutes checks the routes of one upstream or program. What no route names
// has the tools "name/METHOD".
func NewRoutes(name string, routes []Route) (*Routes, error) {
	if name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("httpgate: the name %q of the routes is empty or holds a slash; give the upstream's name", name)
	}
	rs := &Routes{name: name, byTool: map[deed.Tool]*Route{}}
	shapes := map[string]bool{}
	for _, r := range routes {
		c := r
		if err := c.compile(name); err != nil {
			return nil, fmt.Errorf("httpgate: route %s %s: %w", r.Method, r.Pattern, err)
		}
		if shapes[c.shape()] {
			return nil, fmt.Errorf("httpgate: route %s %s: another route matches the same paths; keep one", r.Method, r.Pattern)
		}
		shapes[c.shape()] = true
		if other := rs.byTool[c.tool()]; other != nil && !(other.As != "" && c.As != "" && agree(other, &c)) {
			return nil, fmt.Errorf("httpgate: route %s %s: route %s %s has the same tool %s and another key rule", r.Method, r.Pattern, other.Method, other.Pattern, c.tool())
		}
		rs.byTool[c.tool()] = &c
		rs.list = append(rs.list, &c)
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		c := Route{Method: method, Pattern: "/", name: name, speaks: profiles[defaultProfile], Tool: deed.Tool(name + "/" + method)}
		if rs.byTool[c.Tool] == nil {
			rs.byTool[c.Tool] = &c
		}
	}
	return rs, nil
}

// agree reports whether two routes say the same of the tool they share.
func agree(a, b *Route) bool {
	return a.Key.Need == b.Key.Need && slices.Equal(a.Key.From, b.Key.From) && a.Twins == b.Twins && a.Rule == nil && b.Rule == nil
}

func (r *Route) compile(name string) error {
	r.name = name
	if r.Method == "" || strings.ToUpper(r.Method) != r.Method || strings.ContainsAny(r.Method, " \t/") {
		return fmt.Errorf("the method %q is not an HTTP method in capitals", r.Method)
	}
	var err error
	if r.segments, err = parsePattern(r.Pattern); err != nil {
		return err
	}
	if r.Profile == "" {
		r.Profile = defaultProfile
	}
	if r.speaks = profiles[r.Profile]; r.speaks == nil {
		return fmt.Errorf("there is no profile %q; the profiles are %s", r.Profile, strings.Join(Profiles(), ", "))
	}
	if !slices.Contains([]deed.KeyScope{"", deed.ScopeTenant, deed.ScopeActor}, r.Scope) {
		return fmt.Errorf("the scope %q is none; write tenant or actor", r.Scope)
	}
	if r.Twins < 0 || r.MaxBody < 0 {
		return errors.New("twins.within and the longest body are positive")
	}
	for _, status := range slices.Concat(r.Refused, r.Busy) {
		if status < 400 || status > 599 {
			return fmt.Errorf("the status %d cannot prove that nothing was applied; list codes from 400 to 599", status)
		}
	}
	for i, header := range r.Headers {
		r.Headers[i] = http.CanonicalHeaderKey(header)
		if notForwarded(r.Headers[i]) || credential(r.Headers[i]) || r.Headers[i] == keyheader.Name {
			return fmt.Errorf("the header %s cannot belong to an effect: it is a credential, a key, or ends at every hop", header)
		}
	}
	if r.As == "" {
		if len(r.Query) > 0 {
			return errors.New("query lists arguments of the tool that As names; the whole query belongs to the effect of other routes, and fingerprint pointers choose among it")
		}
		if r.Tool == "" {
			r.Tool = deed.Tool(name + "/" + r.Method + " " + r.Pattern)
		}
		return nil
	}
	if r.Tool != "" || r.Effect != "" || r.Scope != "" || len(r.Matter) > 0 || len(r.Headers) > 0 || len(r.Fingerprint.Include) > 0 || len(r.Fingerprint.Exclude) > 0 {
		return fmt.Errorf("with As, tool, effect, scope, matter, headers and fingerprint are those of %s; leave them out here", r.As)
	}
	return nil
}

// safe reports whether the method is one that changes nothing (RFC 9110 section
// 9.2.1).
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions || method == http.MethodTrace
}
