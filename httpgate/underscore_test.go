// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/httpgate"
)

// variables is an upstream that takes headers for variables, as CGI and WSGI do: an
// underscore is a hyphen.
func variables(t *testing.T) (url string, seen func() map[string]string) {
	var last atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		list := map[string]string{}
		for name, values := range r.Header {
			list[strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] += strings.Join(values, ",")
		}
		last.Store(list)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() map[string]string { return last.Load().(map[string]string) }
}

func TestHeadersThatStayHereStayHereInEverySpelling(t *testing.T) {
	url, seen := variables(t)
	r := build(t, setup{
		upstream: httpgate.Upstream{URL: url, Header: http.Header{"X-Api-Key": {"ours"}}},
		routes:   []httpgate.Route{{Method: http.MethodPost, Pattern: "/orders", Headers: []string{"On-Behalf"}}},
	})
	r.send("GET", "/orders", "", "X_HTTP_Method_Override", "DELETE", "X-HTTP_Method-Override", "DELETE", "X_Original_URL", "/refunds", "Idempotency_Key", key,
		"Deed_Meta_Run", "R1", "X_Forwarded_For", "10.0.0.1", "X_Api_Key", "theirs", "Trace_Id", "t1").wants(t, 200)
	want := map[string]string{"X_API_KEY": "ours", "TRACE_ID": "t1"}
	got := seen()
	for name := range got {
		if _, wanted := want[name]; !wanted && name != "USER_AGENT" && name != "ACCEPT_ENCODING" {
			t.Errorf("%s went on as %q", name, got[name])
		}
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
	}
	r.send("POST", "/orders", order1, "Idempotency-Key", key, "On-Behalf", "ann", "On_Behalf", "bob", "X_Api_Key", "theirs", "Content_Type", "text/plain").wants(t, 200)
	got = seen()
	if diff := cmp.Diff([]string{"ann", "ours", "application/json"}, []string{got["ON_BEHALF"], got["X_API_KEY"], got["CONTENT_TYPE"]}); diff != "" {
		t.Errorf("what belongs to the effect, and whose the request is (-want +got):\n%s", diff)
	}
}

func TestAKeyWithAnUnderscoreNamesTheOperation(t *testing.T) {
	url, _ := variables(t)
	r := build(t, setup{upstream: httpgate.Upstream{URL: url}, routes: []httpgate.Route{{Method: "POST", Pattern: "/charges", Profile: "stripe"}}})
	r.send("POST", "/charges", order1, "Idempotency_Key", key).wants(t, 200, "Deed-Decision", "execute")
	r.send("POST", "/charges", order1, "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "replay")
	r.send("POST", "/charges", order1, "Idempotency-Key", key, "X_Idempotency_Key", other).wants(t, 200, "Deed-Decision", "replay")
	r.send("POST", "/charges", order1, "Idempotency-Key", key, "Idempotency_Key", other).wants(t, 400, "Deed-Reason", "key_carriers_disagree")
}

// Frameworks that take a header for the method stand behind the gate, which found the
// route without it; and take it of reads too, some of them.
func TestAMethodInAHeaderEscapesNoRouteOfAMiddleware(t *testing.T) {
	var deleted, asked atomic.Int64
	framework := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		method := r.Method
		if over := r.Header.Get("X-HTTP-Method-Override"); over != "" {
			method = over
		}
		if method == http.MethodDelete {
			deleted.Add(1)
		}
	})
	r := build(t, setup{handler: framework, routes: []httpgate.Route{
		{Method: http.MethodDelete, Pattern: "/orders/*", Rule: approved}, {Method: http.MethodPost, Pattern: "/orders/*"},
	}})
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodPut} {
		r.send(method, "/orders/1", "", "Idempotency-Key", key+method, "X-HTTP-Method-Override", "DELETE").wants(t, 200)
	}
	if deleted.Load() != 0 || asked.Load() != 3 {
		t.Errorf("%d deletions without the approval that the route asks for, in %d requests", deleted.Load(), asked.Load())
	}
}
