// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"strings"
	"testing"

	"github.com/deed-run/deed"
)

func TestWhatIsSent(t *testing.T) {
	const uuid = "3f1b0c9e-5a3d-4c57-9f0e-0123456789ab"
	for _, c := range []struct {
		name, tool, args, key string
		line, body            string
		header                map[string]string
	}{
		{
			name: "arguments stay within their path segment",
			tool: `{method: POST, path: "/v1/{a}/x/{/b/c}"}`, args: `{"a":"../x?y#z %","b":{"c":7}}`,
			line: "POST /v1/..%2Fx%3Fy%23z%20%25/x/7",
		},
		{
			name: "a query takes texts, numbers and lists and leaves out what is not there",
			tool: `{method: DELETE, path: /x, query: {q: "{q}", n: "{n}", tag: "{tags}", none: "{none}", fixed: 1, mixed: "a {q}"}}`,
			args: `{"q":"a&b=c","n":10.50,"tags":["x","y z"]}`,
			line: "DELETE /x?q=a%26b%3Dc&n=10.5&tag=x&tag=y+z&fixed=1&mixed=a+a%26b%3Dc",
		},
		{
			name: "headers come from arguments",
			tool: `{method: POST, path: /x, headers: {X-Thing: "v{a}", X-None: "{none}"}}`, args: `{"a":1}`,
			line: "POST /x", header: map[string]string{"X-Thing": "v1", "X-None": ""},
		},
		{
			name: "the arguments that stand nowhere else are the body",
			tool: `{method: POST, path: "/x/{a}", query: {q: "{/q/deep}"}, body: json}`, args: `{"q":{"deep":1},"z":{"n":9007199254740993},"a":"A","b":"é<"}`,
			line: "POST /x/A?q=1", body: `{"b":"é<","z":{"n":9007199254740993}}`, header: map[string]string{"Content-Type": "application/json"},
		},
		{
			name: "a template keeps kinds, and leaves out what is not there",
			tool: `{method: PUT, path: /x, body: {json: {title: "{t}", list: ["{a}", "{none}", 3], same: {deep: "{/o}"}, text: "a {t}", on: true, n: null, num: 1.50}}}`,
			args: `{"t":"x\"y","a":[1,{"b":2}],"o":{"k":null}}`,
			line: "PUT /x", body: `{"title":"x\"y","list":[[1,{"b":2}],3],"same":{"deep":{"k":null}},"text":"a x\"y","on":true,"n":null,"num":1.50}`,
		},
		{
			name: "a form has brackets for what is inside",
			tool: `{method: POST, path: /x, body: form}`, args: `{"amount":100,"metadata":{"op":"a b","z":{"y":true}},"items":[{"p":1},"q&"],"none":null}`,
			line: "POST /x", body: "amount=100&items[0][p]=1&items[1]=q%26&metadata[op]=a+b&metadata[z][y]=true&none=",
			header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
		},
		{
			name: "a form's lists may have empty brackets",
			tool: `{method: POST, path: /x, body: {form: {a: "{a}"}, arrays: empty}}`, args: `{"a":[1,2]}`,
			line: "POST /x", body: "a[]=1&a[]=2",
		},
		{
			name: "a GraphQL text is a constant, whatever its braces hold",
			tool: `{method: POST, path: /graphql, body: {graphql: "mutation($i: I!) { create(input: $i) {id} }", variables: {i: {title: "{title}"}}}}`, args: `{"title":"{id}"}`,
			line: "POST /graphql", body: `{"query":"mutation($i: I!) { create(input: $i) {id} }","variables":{"i":{"title":"{id}"}}}`,
		},
		{
			name: "the provider's key in a header",
			tool: `{method: POST, path: /x, provider_key: {header: Idempotency-Key}}`, args: `{}`, key: uuid,
			line: "POST /x", header: map[string]string{"Idempotency-Key": uuid},
		},
		{
			name: "the provider's key in the body",
			tool: `{method: POST, path: /x, body: json, provider_key: {body: /meta/idempotency_key, max: 45}}`, args: `{"meta":{"a":1}}`, key: uuid,
			line: "POST /x", body: `{"meta":{"a":1,"idempotency_key":"` + uuid + `"}}`,
		},
		{
			name: "the provider's key in a form",
			tool: `{method: POST, path: /x, body: form, provider_key: {body: /key, alphabet: hex, max: 64}}`, args: `{"b":1}`, key: "ab12",
			line: "POST /x", body: "b=1&key=ab12",
		},
		{
			name: "the provider's key in the query",
			tool: `{method: POST, path: /x, query: {a: "{a}"}, provider_key: {query: requestId}}`, args: `{"a":1}`, key: uuid,
			line: "POST /x?a=1&requestId=" + uuid,
		},
		{
			name: "the provider's key as the argument of a directive",
			tool: `{method: POST, path: /g, body: {graphql: "mutation($k: String!) { refund @idempotent(key: $k) { id } }"}, provider_key: {graphql: k}}`, args: `{}`, key: uuid,
			line: "POST /g", body: `{"query":"mutation($k: String!) { refund @idempotent(key: $k) { id } }","variables":{"k":"` + uuid + `"}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := record(t, nil)
			api := load(t, server.URL, "headers: {Authorization: \"Bearer ${TOKEN}\"}\ntools:\n  x: "+c.tool+"\n")
			out := api.Call(t.Context(), "x", grant(c.key), []byte(c.args))
			if out.Kind != deed.OutcomeSuccess {
				t.Fatalf("%s: %s", out.Kind, out.Message)
			}
			got := server.requests()
			if len(got) != 1 || got[0].Line != c.line || got[0].Body != c.body {
				t.Fatalf("got %q\nwant %q %q", got, c.line, c.body)
			}
			for name, want := range c.header {
				if h := got[0].Header.Get(name); h != want {
					t.Errorf("%s: %q, want %q", name, h, want)
				}
			}
			if h := got[0].Header.Get("Authorization"); h != "Bearer s3cret" {
				t.Errorf("Authorization: %q", h)
			}
		})
	}
}

func TestWhatCannotBeSentIsRefusedHere(t *testing.T) {
	for _, c := range []struct{ name, tool, args, key, want string }{
		{"no argument for the path", `{method: POST, path: "/x/{a}"}`, `{}`, "", "there is no argument /a"},
		{"null for the path", `{method: POST, path: "/x/{a}"}`, `{"a":null}`, "", "there is no argument /a"},
		{"nothing for the path", `{method: POST, path: "/x/{a}"}`, `{"a":""}`, "", "empty text"},
		{"dots for the path", `{method: POST, path: "/x/{a}"}`, `{"a":".."}`, "", "another address"},
		{"an object for the path", `{method: POST, path: "/x/{a}"}`, `{"a":{}}`, "", "a list or an object"},
		{"a line end in a header", `{method: POST, path: /x, headers: {A: "{a}"}}`, `{"a":"x\r\nB: c"}`, "", "control character"},
		{"an object in the query", `{method: POST, path: /x, query: {a: "{a}"}}`, `{"a":[{}]}`, "", "holds an object"},
		{"a text with a place that has nothing", `{method: POST, path: /x, body: {json: {a: "x{a}"}}}`, `{}`, "", "there is no argument /a"},
		{"a whole body that is not there", `{method: POST, path: /x, body: {json: "{/a}"}}`, `{}`, "", "there is no argument /a"},
		{"a key of another alphabet", `{method: POST, path: /x, provider_key: {header: K, alphabet: hex, max: 64}}`, `{}`, "xyz", "not of the alphabet hex"},
		{"a key that is too long", `{method: POST, path: /x, provider_key: {header: K, alphabet: hex, max: 3}}`, `{}`, "abcd", "4 characters, and 3 are taken"},
		{"a member twice", `{method: POST, path: /x, body: json}`, `{"a":1,"a":2}`, "", "no JSON that can be sent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := record(t, nil)
			api := load(t, server.URL, "tools:\n  x: "+c.tool+"\n")
			out := api.Call(t.Context(), "x", grant(c.key), []byte(c.args))
			if out.Kind != deed.OutcomeRefused || !out.Final || !strings.Contains(out.Message, c.want) {
				t.Errorf("%s, final %v: %s; want %q", out.Kind, out.Final, out.Message, c.want)
			}
			if n := len(server.requests()); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

func TestAnUnknownToolIsRefused(t *testing.T) {
	api := load(t, "http://127.0.0.1:1", "tools:\n  x: {method: POST, path: /x}\n")
	if out := api.Call(t.Context(), "y", grant(""), []byte(`{}`)); out.Kind != deed.OutcomeRefused || !out.Final {
		t.Errorf("%+v", out)
	}
}
