// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
)

// verdict is the part of an outcome that decides what may happen next.
type verdict struct {
	Kind   deed.OutcomeKind
	Reason deed.Reason
	Final  bool
}

func TestWhatAnAnswerProves(t *testing.T) {
	var (
		done    = verdict{Kind: deed.OutcomeSuccess}
		final   = verdict{deed.OutcomeRefused, deed.ReasonRefused, true}
		again   = verdict{deed.OutcomeRefused, deed.ReasonRefused, false}
		unknown = verdict{deed.OutcomeUnknown, deed.ReasonOutcomeUnknown, false}
	)
	for _, c := range []struct {
		name, rules, body string
		status            int
		headers           []string
		want              verdict
		id                string
		after             time.Duration
	}{
		{name: "a 201 with the id", rules: "receipt: {id: /data/0/id}", status: 201, body: `{"data":[{"id":42}]}`, want: done, id: "42"},
		{name: "a 200 without the id", rules: "receipt: {id: /id}", status: 200, body: `{"x":1}`, want: done},
		{name: "a 200 without an id that is required", rules: "receipt: {id: /id, require: true}", status: 200, body: `{"x":1}`, want: unknown},
		{name: "an id in a header", rules: "receipt: {id: header:ETag}", status: 200, headers: []string{"ETag: \"v1\""}, want: done, id: `"v1"`},
		{name: "an id that the client chose", rules: `receipt: {id: "{bucket}/{key}"}`, status: 200, want: done, id: "b/k"},
		{name: "a 204", status: 204, want: done},
		{name: "a 202", status: 202, body: `{}`, want: done},
		{name: "a 200 that claims JSON and is none", status: 200, body: "{\"id\":", want: unknown},
		{name: "a 200 of HTML", status: 200, body: "<p>", want: done},
		{name: "a redirect", status: 302, headers: []string{"Location: /elsewhere"}, want: unknown},
		{name: "a redirect that keeps the method", status: 307, headers: []string{"Location: /elsewhere"}, want: unknown},
		{name: "a 400", status: 400, body: `{"error":"x"}`, want: final},
		{name: "a 404 without a rule", status: 404, body: `{}`, want: unknown},
		{name: "a 404 with a rule", rules: "definitive: [{status: [404, 410]}]", status: 404, body: `{}`, want: final},
		{name: "a 409 without a rule", status: 409, body: `{}`, want: unknown},
		{name: "a 429", status: 429, headers: []string{"Retry-After: 7"}, want: again, after: 7 * time.Second},
		{name: "a 500", status: 500, body: "oops", want: unknown},
		{name: "a 503 that says when, with a rule", rules: "not_applied: [{status: 503, retry_after_needed: true}]", status: 503, headers: []string{"Retry-After: 3"}, want: again, after: 3 * time.Second},
		{name: "a 503 that does not, with that rule", rules: "not_applied: [{status: 503, retry_after_needed: true}]", status: 503, want: unknown},
		{name: "an error code", rules: "definitive: [{status: 402, at: /error/code, is: card_declined}]", status: 402, body: `{"error":{"code":"card_declined"}}`, want: final},
		{name: "another error code", rules: "definitive: [{status: 402, at: /error/code, is: card_declined}]", status: 402, body: `{"error":{"code":"x"}}`, want: unknown},
		{name: "one of several codes", rules: "not_applied: [{at: /code, is: [a, b], retry_after: 5s}]", status: 500, body: `{"code":"b"}`, want: again, after: 5 * time.Second},
		{name: "a code without a body", rules: "definitive: [{at: /code, is: a}]", status: 500, want: unknown},
		{name: "a text", rules: "failed: [{text: \"^maintenance\", retry_after: 1m}]", status: 500, body: "maintenance", want: again, after: time.Minute},
		{name: "a text at a place", rules: "failed: [{at: /m, text: \"^no \", final: true}]", status: 409, body: `{"m":"no room"}`, want: final},
		{name: "a refusal under a 200", rules: "definitive: [{status: 200, at: /error, is: channel_not_found}]", status: 200, body: `{"ok":false,"error":"channel_not_found"}`, want: final},
		{name: "a 200 that does not say that it worked", rules: "success: {at: /ok, is: \"true\"}", status: 200, body: `{"ok":false,"error":"fatal_error"}`, want: unknown},
		{name: "a 200 that says it", rules: "success: {at: /ok, is: \"true\"}", status: 200, body: `{"ok":true}`, want: done},
		{name: "a 200 with errors", rules: "errors: [/errors, /data/c/userErrors]", status: 200, body: `{"data":{"c":{"userErrors":[{"m":"x"}]}}}`, want: unknown},
		{name: "a 200 with no errors in the list", rules: "errors: [/data/c/userErrors]", status: 200, body: `{"data":{"c":{"userErrors":[]}}}`, want: done},
		{name: "a 200 whose errors cannot be read", rules: "errors: [/errors]", status: 200, body: `{"errors":[],"errors":[{"m":"x"}]}`, want: unknown},
		{name: "a 200 that is no JSON where errors may stand", rules: "errors: [/errors]", status: 200, body: `<p>`, want: unknown},
		{name: "a duplicate by status", rules: "duplicate: [{status: 409}]", status: 409, body: `{}`, want: unknown},
		{name: "a duplicate by text wins over a rule", rules: "definitive: [{status: 400}]\n    duplicate: [{text: already exists}]", status: 400, body: `{"m":"it already exists"}`, want: unknown},
		{name: "all items taken", rules: "items: {at: /r, sent: /in, id: /id, error: /e}", status: 200, body: `{"r":[{"id":1},{"id":2}]}`, want: done},
		{name: "one item refused", rules: "items: {at: /r, sent: /in, id: /id, error: /e}", status: 207, body: `{"r":[{"id":1},{"e":{"c":"x"}}]}`, want: done},
		{name: "all items refused", rules: "items: {at: /r, sent: /in, ok: /ok}", status: 200, body: `{"r":[{"ok":false},{}]}`, want: final},
		{name: "one item that the answer forgets", rules: "items: {at: /r, sent: /in, id: /id}", status: 200, body: `{"r":[{"id":1}]}`, want: unknown},
		{name: "one item without an id", rules: "items: {at: /r, sent: /in, id: /id}", status: 200, body: `{"r":[{"id":1},{}]}`, want: unknown},
		{name: "no list of items", rules: "items: {at: /r, id: /id}", status: 200, body: `{"r":{}}`, want: unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := record(t, answers(c.status, c.body, c.headers...))
			api := load(t, server.URL, "tools:\n  x:\n    method: POST\n    path: /x\n    body: json\n    "+c.rules+"\n")
			out := api.Call(t.Context(), "x", grant(""), []byte(`{"bucket":"b","key":"k","in":[1,2]}`))
			if diff := cmp.Diff(c.want, verdict{out.Kind, out.Reason, out.Final}); diff != "" {
				t.Errorf("%s\n%s", diff, out.Message)
			}
			if out.Receipt.RemoteID != c.id || out.RetryAfter != c.after {
				t.Errorf("id %q, want %q; retry after %s, want %s", out.Receipt.RemoteID, c.id, out.RetryAfter, c.after)
			}
			if n := len(server.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
			if out.Result != nil && out.ResultIsError != (out.Kind != deed.OutcomeSuccess) {
				t.Errorf("the result is an error: %v", out.ResultIsError)
			}
		})
	}
}

func TestItemsNameTheirOutcomes(t *testing.T) {
	server := record(t, answers(207, `{"results":[{"id":"a"},{"error":"bad"}]}`))
	api := load(t, server.URL, "system: crm\ntools:\n  x: {method: POST, path: /x, body: json, items: {at: /results, sent: /inputs, id: /id, error: /error}}\n")
	out := api.Call(t.Context(), "x", grant(""), []byte(`{"inputs":[{},{},{}]}`))
	want := []deed.Item{
		{ID: "0", Outcome: deed.OutcomeSuccess, RemoteID: "a", Detail: []byte(`{"id":"a"}`)},
		{ID: "1", Outcome: deed.OutcomeRefused, Reason: `"bad"`, Detail: []byte(`{"error":"bad"}`)},
		{ID: "2", Outcome: deed.OutcomeUnknown, Reason: "the answer does not tell of it"},
	}
	if diff := cmp.Diff(want, out.Receipt.Items); diff != "" || out.Kind != deed.OutcomeUnknown || out.Receipt.RemoteSystem != "crm" {
		t.Errorf("%s %+v", diff, out)
	}
}

func TestResultsAreToolResults(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"an object", `{"id":1e2}`, `{"content":[{"type":"text","text":"{\"id\":1e2}"}],"structuredContent":{"id":1e2}}`},
		{"a list", `[1]`, `{"content":[{"type":"text","text":"[1]"}],"structuredContent":{"result":[1]}}`},
		{"a text", `<ok/>`, `{"content":[{"type":"text","text":"<ok/>"}]}`},
		{"nothing", ``, `{"content":[{"type":"text","text":"HTTP 200"}]}`},
		{"bytes", "\xff\xfe", `{"content":[{"type":"text","text":"2 bytes of text/plain; charset=utf-8"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := record(t, answers(200, c.body))
			api := load(t, server.URL, "tools:\n  x: {method: POST, path: /x}\n")
			out := api.Call(t.Context(), "x", grant(""), []byte(`{}`))
			if string(out.Result) != c.want {
				t.Errorf("got  %s\nwant %s", out.Result, c.want)
			}
		})
	}
}

func TestAnAnswerThatIsTooLargeIsUnknown(t *testing.T) {
	server := record(t, answers(200, `{"id":"`+strings.Repeat("x", 5000)+`"}`))
	api := load(t, server.URL, "max_body: 4KiB\ntools:\n  x: {method: POST, path: /x}\n")
	out := api.Call(t.Context(), "x", grant(""), []byte(`{}`))
	if out.Kind != deed.OutcomeUnknown || !strings.Contains(out.Message, "more than 4096 bytes") {
		t.Errorf("%s: %s", out.Kind, out.Message)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(elsewhere.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := record(t, answers(status, "", "Location: "+elsewhere.URL))
		api := load(t, server.URL, "tools:\n  x: {method: POST, path: /x, body: json}\n  r: {method: GET, path: /r}\n")
		for _, tool := range []string{"x", "r"} {
			if out := api.Call(t.Context(), tool, grant(""), []byte(`{}`)); out.Kind != deed.OutcomeUnknown {
				t.Errorf("HTTP %d for %s: %s", status, tool, out.Kind)
			}
		}
		if n := len(server.requests()); n != 2 {
			t.Errorf("HTTP %d: %d requests", status, n)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func TestABrokenReusedConnectionIsNotRepeated(t *testing.T) {
	var effects atomic.Int32
	server := record(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/warm" {
			_, _ = io.WriteString(w, `{}`)
			return
		}
		effects.Add(1)
		panic(http.ErrAbortHandler)
	})
	server.Config.ErrorLog = nil
	api := load(t, server.URL, "tools:\n  warm: {method: GET, path: /warm}\n  x: {method: POST, path: /x, provider_key: {header: Idempotency-Key}}\n  d: {method: DELETE, path: /x}\n")
	for i, tool := range []string{"x", "d"} {
		if out := api.Call(t.Context(), "warm", grant(""), []byte(`{}`)); out.Kind != deed.OutcomeSuccess {
			t.Fatal(out.Message)
		}
		out := api.Call(t.Context(), tool, grant("3f1b0c9e-5a3d-4c57-9f0e-0123456789ab"), []byte(`{}`))
		if out.Kind != deed.OutcomeUnknown || effects.Load() != int32(i+1) {
			t.Errorf("%s: %s after %d effects: %s", tool, out.Kind, effects.Load(), out.Message)
		}
	}
}
