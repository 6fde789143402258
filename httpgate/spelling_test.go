// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
)

// approved asks for a person's consent.
func approved(rule *deed.Rule) { rule.Approval = &deed.ApprovalRule{} }

// line sends the head of a request with a key and the body {}, byte for byte, and
// returns the first line of the answer.
func (r *rig) line(method, target string) string {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	must(r.t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, method+" "+target+" HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: "+key+"\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
	must(r.t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	must(r.t, err)
	return strings.TrimSpace(line)
}

// lenient is an upstream that decodes a path before it normalises it, as nginx does,
// and drops parameters, as servlet containers do. It counts what it did as /refunds.
func lenient(t *testing.T) (url string, effects *atomic.Int64) {
	handler, effects := lenientHandler()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL, effects
}

func lenientHandler() (handler http.Handler, effects *atomic.Int64) {
	effects = &atomic.Int64{}
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		at := strings.ReplaceAll(strings.ReplaceAll(r.URL.Path, `\`, "/"), "%2F", "/")
		at, _, _ = strings.Cut(strings.ReplaceAll(strings.ReplaceAll(at, "%2E", "."), "..;", ".."), ";")
		if at = strings.ToLower(path.Clean(at)); at == "/refunds" || strings.HasPrefix(at, "/refunds/") || at == "/orders/refunds" {
			effects.Add(1)
		}
	}), effects
}

func TestNoSpellingOfAPathEscapesItsRoute(t *testing.T) {
	url, effects := lenient(t)
	r := build(t, setup{upstream: httpgate.Upstream{URL: url}, routes: []httpgate.Route{
		{Method: http.MethodPost, Pattern: "/refunds", Rule: approved}, {Method: http.MethodPost, Pattern: "/orders/refunds", Rule: approved},
		{Method: http.MethodPost, Pattern: "/*"}, {Method: http.MethodPost, Pattern: "/orders/*"}, {Method: http.MethodPost, Pattern: "/orders/*/cancel"},
	}})
	for name, target := range map[string]string{
		"a way up within an encoded segment":         "/x%2F..%2Frefunds",
		"a way up at the beginning of a segment":     "/x/..%2F..%2Frefunds",
		"a dot within an encoded segment":            "/.%2Frefunds",
		"a way up within the value of a route":       "/orders/1%2F..%2F..%2Frefunds",
		"a way up before a route's own literal":      "/orders/..%2F..%2Frefunds%2F./cancel",
		"a way up behind a backslash":                "/x%5C..%5Crefunds",
		"a way up that is encoded twice":             "/x/%252E%252E/refunds",
		"a slash that is encoded twice":              "/x%252F..%252Frefunds",
		"a way up with a parameter":                  "/x/..;a=b/refunds",
		"a way up with an empty parameter":           "/x/..;/refunds",
		"another route behind an encoded slash":      "/%2Frefunds",
		"another route spelt within an open segment": "/orders%2Frefunds",
		"another route in capitals":                  "/orders/Refunds",
		"another route with a parameter":             "/orders/refunds;a=b",
		"a way up":                                   "/x/../refunds",
		"an encoded way up":                          "/x/%2e%2e/refunds",
		"an empty segment":                           "//refunds",
	} {
		t.Run(name, func(t *testing.T) {
			if line := r.line(http.MethodPost, target); !strings.Contains(line, " 400 ") {
				t.Errorf("%s was answered %q", target, line)
			}
		})
	}
	if n := effects.Load(); n != 0 {
		t.Errorf("%d refunds without the approval that the route asks for", n)
	}
	if n := r.operations(); n != 0 {
		t.Errorf("%d operations were recorded", n)
	}
}

// An encoded slash is a letter of its segment, and common: names of projects, whole
// addresses, and keys of objects have some.
func TestWhatAPathMayHoldIsNoOtherSpelling(t *testing.T) {
	var seen atomic.Value
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen.Store(r.RequestURI) }))
	defer upstream.Close()
	r := build(t, setup{upstream: httpgate.Upstream{URL: upstream.URL}, routes: []httpgate.Route{
		{Method: http.MethodPost, Pattern: "/projects/*/issues"}, {Method: http.MethodPost, Pattern: "/projects/*"}, {Method: http.MethodPost, Pattern: "/sites/*"},
		{Method: http.MethodPost, Pattern: "/refunds"}, {Method: http.MethodPost, Pattern: "/refunds.json"}, {Method: http.MethodPost, Pattern: "/Refunds/"},
		{Method: http.MethodPost, Pattern: "/users/*"}, {Method: http.MethodPost, Pattern: "/users/me"},
	}})
	for i, target := range []string{
		"/projects/group%2Fproject/issues", "/projects/group%2fproject", "/projects/group%2F.hidden", "/projects/a..b", "/projects/...", "/projects/50%25",
		"/sites/https%3A%2F%2Fwww.example.com%2F", "/sites/a;b=c", "/sites/C%3A%5Cfolder", "/refunds", "/refunds.json", "/Refunds/", "/other/x%2Fy", "/users/me.smith", "/users/me",
	} {
		r.send(http.MethodPost, target, order1, "Idempotency-Key", key+string(rune('a'+i))).wants(t, 200, "Deed-Decision", "execute")
		if got := seen.Load(); got != target {
			t.Errorf("%s reached the upstream as %s", target, got)
		}
	}
}

func TestASlashWithinASegmentIsAnotherPathThanOneBetweenTwo(t *testing.T) {
	r := build(t, setup{handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
	for i, pair := range [][2]string{{"/a%2Fb/c", "/a/b/c"}, {"/a/b", "/a%2Fb"}, {"/a%2Fb", "/a%252Fb"}, {"/a%2Fb/c", "/a/b%2Fc"}} {
		own := key + string(rune('a'+i))
		r.send(http.MethodPost, pair[0], order1, "Idempotency-Key", own).wants(t, 200, "Deed-Decision", "execute")
		r.send(http.MethodPost, pair[1], order1, "Idempotency-Key", own).wants(t, 422, "Deed-Decision", "conflict")
		r.send(http.MethodPost, pair[0], order1, "Idempotency-Key", own).wants(t, 200, "Deed-Decision", "replay")
	}
}

// Another case or slash, and HEAD, for which servers run the handler of GET.
func TestAGETThatChangesThingsIsEscapedByNoSpellingAndNotByHEAD(t *testing.T) {
	for name, c := range map[string]struct{ method, path string }{
		"a slash at the end": {http.MethodGet, "/charge/"}, "another case": {http.MethodGet, "/Charge"}, "a parameter": {http.MethodGet, "/charge;a=b"},
		"a suffix": {http.MethodGet, "/charge.json"}, "HEAD": {http.MethodHead, "/charge"}, "HEAD in another case": {http.MethodHead, "/Charge"}, "a way up": {http.MethodGet, "/x%2F..%2Fcharge"},
	} {
		for _, behind := range []string{"proxy", "middleware"} {
			t.Run(name+", "+behind, func(t *testing.T) {
				var effects atomic.Int64
				api := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { effects.Add(1) })
				s := setup{routes: []httpgate.Route{{Method: http.MethodGet, Pattern: "/charge", Effect: deed.EffectNonIdempotent}}, handler: api}
				if behind == "proxy" {
					upstream := httptest.NewServer(api)
					t.Cleanup(upstream.Close)
					s.upstream.URL, s.handler = upstream.URL, nil
				}
				r := build(t, s)
				r.send(http.MethodGet, "/charge", "", "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "execute")
				r.send(c.method, c.path, "", "Idempotency-Key", key).wants(t, 400)
				if n := effects.Load(); n != 1 {
					t.Errorf("%d effects under one key", n)
				}
			})
		}
	}
}

// A route for GET that only reads serves HEAD too, under its rule; and where no rule
// refuses anything, a read passes in the spelling that it has.
func TestReadsPassInTheirOwnSpelling(t *testing.T) {
	var asked atomic.Int64
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	r := build(t, setup{handler: handler, routes: []httpgate.Route{{Method: http.MethodPost, Pattern: "/refunds"}, {Method: http.MethodHead, Pattern: "/made", Effect: deed.EffectNonIdempotent}}})
	for _, path := range []string{"/refunds", "/Refunds/", "//refunds", "/proxy/https://example.com/"} {
		r.send(http.MethodGet, path, "").wants(t, 200)
	}
	r = build(t, setup{handler: handler, routes: []httpgate.Route{{Method: http.MethodGet, Pattern: "/orders/*"}, {Method: http.MethodHead, Pattern: "/made", Effect: deed.EffectNonIdempotent}}})
	for _, path := range []string{"/orders/1", "/orders/1/", "/Orders/1"} {
		r.send(http.MethodGet, path, "").wants(t, 200)
	}
	r.send(http.MethodHead, "/orders/1", "").wants(t, 200)
	r.send(http.MethodHead, "/made", "", "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "execute")
	if n := asked.Load(); n != 9 {
		t.Errorf("%d requests arrived, want 9", n)
	}
}

func passUnnamed(o *httpgate.Options) { o.Unnamed = httpgate.UnnamedPass }

func TestWhatEscapesNoRouteDoesNotWhereTheUnnamedPass(t *testing.T) {
	for _, behind := range []string{"proxy", "middleware"} {
		t.Run(behind, func(t *testing.T) { escapesNothing(t, behind == "middleware") })
	}
}

func escapesNothing(t *testing.T, inMiddleware bool) {
	handler, effects := lenientHandler()
	s := setup{routes: []httpgate.Route{{Method: http.MethodPost, Pattern: "/refunds", Rule: approved}}, edit: passUnnamed, handler: handler}
	if !inMiddleware {
		upstream := httptest.NewServer(handler)
		t.Cleanup(upstream.Close)
		s.upstream.URL, s.handler = upstream.URL, nil
	}
	r := build(t, s)
	for _, target := range []string{"//refunds", "/./refunds", "/x/../refunds", "/%2e/refunds", "/refunds//", "/refunds/", "/x%2F..%2Frefunds"} {
		if line := r.line(http.MethodPost, target); !strings.Contains(line, " 400 ") {
			t.Errorf("POST %s was answered %q", target, line)
		}
	}
	for _, method := range []string{"post", "Post", "pOST"} {
		if line := r.line(method, "/refunds"); !strings.Contains(line, " 405 ") {
			t.Errorf("%s /refunds was answered %q", method, line)
		}
	}
	if n := effects.Load(); n != 0 {
		t.Errorf("%d refunds without the approval that the route asks for", n)
	}
	r.send("PURGE", "/refunds", "").wants(t, 200)
	if n := effects.Load(); n != 1 {
		t.Errorf("%d requests under a method of its own", n)
	}
}

// What passes goes under the upstream's credentials.
func TestWhatPassesUnnamedTakesTheRightToCall(t *testing.T) {
	var asked atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer upstream.Close()
	r := build(t, setup{
		upstream: httpgate.Upstream{URL: upstream.URL}, routes: []httpgate.Route{{Method: http.MethodPost, Pattern: "/refunds"}},
		edit: func(o *httpgate.Options) {
			passUnnamed(o)
			o.Auth = func(*http.Request) (deed.Principal, bool) {
				return deed.Principal{Tenant: "acme", Actor: "auditor", Rights: []deed.Right{deed.RightRead}}, true
			}
		},
	})
	for _, method := range []string{http.MethodGet, http.MethodPost, "PURGE"} {
		r.send(method, "/payouts", order1, "Idempotency-Key", key).wants(t, 403)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// A dialect that scopes keys by path has one operation for each path (RFC 3986
// section 6.2.2): another runtime's retry may encode a colon.
func TestAKeyOfAPathIsOneInAllItsSpellings(t *testing.T) {
	var effects atomic.Int64
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		effects.Add(1)
		_, _ = io.WriteString(w, "charged")
	})
	r := build(t, setup{handler: handler, routes: []httpgate.Route{{Method: "POST", Pattern: "/sessions/*/complete", Profile: "acp"}}})
	r.send("POST", "/sessions/cs%3A1/complete", order1, "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "execute")
	for _, same := range []string{"/sessions/cs:1/complete", "/sessions/%63s:1/complete", "/sessions/cs%3a1/complete", "/sessions/cs%3A1/complete"} {
		r.send("POST", same, order1, "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "replay")
	}
	if n := effects.Load(); n != 1 {
		t.Errorf("%d effects under one key for one path", n)
	}
	for _, another := range []string{"/sessions/cs%2F1/complete", "/sessions/cs%252F1/complete", "/sessions/cs%3F1/complete", "/sessions/cs2/complete"} {
		r.send("POST", another, order1, "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "execute")
	}
}

// Up to version 0.1.0 a path's key held its spelling.
func TestAnOperationUnderASpellingOfItsPathIsFound(t *testing.T) {
	for _, spelling := range []string{"/sessions/cs%3A1/complete", "/sessions/cs:1/complete"} {
		var effects atomic.Int64
		handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { effects.Add(1) })
		r := build(t, setup{handler: handler, routes: []httpgate.Route{{Method: "POST", Pattern: "/sessions/*/complete", Profile: "acp"}}})
		sum := sha256.Sum256([]byte("POST pay" + spelling))
		_, grant, err := r.runtime.Claim(t.Context(), deed.Call{
			Principal: deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall}}, Tool: "pay/POST /sessions/*/complete",
			Key: deed.OperationKey(key + "@" + hex.EncodeToString(sum[:16])), VisibleASCIIKeys: true, Facts: deed.ToolFacts{UpstreamIdentity: "pay"},
			Arguments: []byte(`{"method":"POST","path":{"1":"cs:1"},"target":"` + spelling + `","body":` + order1 + `}`),
		})
		must(t, err)
		_, err = r.runtime.Settle(t.Context(), grant, deed.Outcome{Kind: deed.OutcomeSuccess, Result: []byte("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ncharged")})
		must(t, err)
		for _, path := range []string{spelling, "/sessions/cs:1/complete"} {
			r.send("POST", path, order1, "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "replay")
		}
		if n := effects.Load(); n != 0 {
			t.Errorf("%d effects beside the one that was recorded under %s", n, spelling)
		}
	}
}
