// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector"
)

const listing = `tools:
  x:
    method: POST
    path: /x
    body: json
    marker: {into: /op}
    reconcile: {lookup: find}
lookups:
  find:
    path: /things
    query: {limit: 2}
    items: /data
    match: {token: /op, equals: "{marker}"}
    id: /id
    consistency: strong
    pages: `

func found(list []connector.Found) string {
	var ids []string
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, " ")
}

func TestPagesAreReadToTheEnd(t *testing.T) {
	// Six things, two to a page; the third and the last are ours.
	things := []string{"a", "b", "mine1", "c", "d", "mine2"}
	page := func(from int) string {
		var items []string
		for _, id := range things[from:min(from+2, len(things))] {
			op := "other"
			if strings.HasPrefix(id, "mine") {
				op = "m"
			}
			items = append(items, fmt.Sprintf(`{"id":%q,"op":%q}`, id, op))
		}
		return strings.Join(items, ",")
	}
	index := func(id string) int {
		for i, thing := range things {
			if thing == id {
				return i + 1
			}
		}
		return 0
	}
	for _, c := range []struct {
		name, pages string
		serve       func(w http.ResponseWriter, r *http.Request)
		want        string
		read        int
		err         string
	}{
		{
			"by the last id", "{style: cursor, param: starting_after, from: /data/-1/id, more: /has_more}",
			func(w http.ResponseWriter, r *http.Request) {
				from := index(r.FormValue("starting_after"))
				_, _ = fmt.Fprintf(w, `{"data":[%s],"has_more":%v}`, page(from), from+2 < len(things))
			}, "mine1 mine2", 3, "",
		},
		{
			"by a cursor", "{style: cursor, param: cursor, from: /meta/next}",
			func(w http.ResponseWriter, r *http.Request) {
				from := index(r.FormValue("cursor"))
				next := ""
				if from+2 < len(things) {
					next = things[from+1]
				}
				_, _ = fmt.Fprintf(w, `{"data":[%s],"meta":{"next":%q}}`, page(from), next)
			}, "mine1 mine2", 3, "",
		},
		{
			"by number", "{style: number, param: page}",
			func(w http.ResponseWriter, r *http.Request) {
				n := 0
				_, _ = fmt.Sscan(r.FormValue("page"), &n)
				_, _ = fmt.Fprintf(w, `{"data":[%s]}`, page(min(2*(n-1), len(things))))
			}, "mine1 mine2", 4, "",
		},
		{
			"by links", "{style: link}",
			func(w http.ResponseWriter, r *http.Request) {
				n := 0
				_, _ = fmt.Sscan(r.FormValue("p"), &n)
				if n < 2 {
					w.Header().Set("Link", fmt.Sprintf(`</first>; rel="first", </things?p=%d>; rel="next"`, n+1))
				}
				_, _ = fmt.Fprintf(w, `{"data":[%s]}`, page(2*n))
			}, "mine1 mine2", 3, "",
		},
		{
			"one page", "{style: one}",
			func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, `{"data":[%s]}`, page(2)) }, "mine1", 1, "",
		},
		{
			"more pages than are read", "{style: number, param: page, max: 2}",
			func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, `{"data":[%s]}`, page(0)) }, "", 2, "more than 2 pages",
		},
		{
			"pages for ever", "{style: cursor, param: cursor, from: /next}",
			func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, `{"data":[%s],"next":"same"}`, page(0))
			}, "", 2, "the same page again",
		},
		{
			"more, and no cursor", "{style: cursor, param: c, from: /next, more: /more}",
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":[],"more":true}`) }, "", 1, "no cursor",
		},
		{
			"a link to another address", "{style: link}",
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Link", `<http://elsewhere.example/things?p=2>; rel="next"`)
				_, _ = io.WriteString(w, `{"data":[]}`)
			}, "", 1, "another address",
		},
		{
			"a 200 with an error in it", "{style: one}",
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":false,"error":"x"}`) }, "", 1, "no list at /data",
		},
		{
			"a list of something else", "{style: one}",
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":{"op":"m"}}`) }, "", 1, "no list at /data",
		},
		{
			"an error", "{style: one}",
			func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) }, "", 1, "HTTP 503: busy",
		},
		{
			"a redirect", "{style: one}",
			func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, "", 1, "HTTP 302",
		},
		{
			"a match without an id", "{style: one}",
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":[{"op":"m"}]}`) }, "", 1, "a match has no id",
		},
		{
			"a member twice", "{style: one}",
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":[],"data":[]}`) }, "", 1, "no list at /data",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := record(t, c.serve)
			api := load(t, server.URL, listing+c.pages+"\n")
			findings, err := api.Find(t.Context(), "x", deed.Marks{Marker: "m"}, []byte(`{"op":"m"}`))
			switch {
			case c.err == "" && err != nil, c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Fatalf("error %v, want %q", err, c.err)
			case c.err == "" && found(findings.Matches) != c.want, findings.Pages != c.read:
				t.Errorf("found %q in %d pages, want %q in %d", found(findings.Matches), findings.Pages, c.want, c.read)
			}
		})
	}
}

func TestProbesGiveVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, reply string
		status      int
		marks       deed.Marks
		account     string
		want        deed.VerdictKind
		fails       bool
	}{
		{name: "one", reply: `{"data":[{"id":1,"op":"m"},{"id":2,"op":"n"}]}`, want: deed.VerdictFound},
		{name: "none", reply: `{"data":[{"id":2,"op":"n"}]}`, want: deed.VerdictAbsent},
		{name: "two", reply: `{"data":[{"id":1,"op":"m"},{"id":2,"op":"m"}]}`, want: deed.VerdictMany},
		{name: "an error", status: 500, want: deed.VerdictUndetermined, fails: true},
		{name: "another account", reply: `{"data":[]}`, account: "https://elsewhere", want: deed.VerdictUndetermined},
		{name: "nothing was planted", reply: `{"data":[{"id":1,"op":"x"}]}`, marks: deed.Marks{ClientID: "c"}, want: deed.VerdictUndetermined, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.status == 0 {
				c.status = 200
			}
			if c.marks == (deed.Marks{}) {
				c.marks.Marker = "m"
			}
			server := record(t, answers(c.status, c.reply))
			api := load(t, server.URL, listing+"{style: one}\n")
			op := &deed.Operation{Tool: "api/x", Arguments: []byte(`{"op":"x","marker":"x"}`), UpstreamIdentity: c.account}
			v, err := api.Probe(t.Context(), deed.Inquest{Operation: op, Marks: c.marks})
			if v.Kind != c.want || (err != nil) != c.fails {
				t.Errorf("%s, %v: %s", v.Kind, err, v.Evidence)
			}
			if v.Kind == deed.VerdictFound && (v.Matches[0].Token != "m" || v.Strategy != "lookup:find" || !v.Complete) {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestALookupIsAToolThatReads(t *testing.T) {
	server := record(t, answers(200, `{"data":[{"id":1,"op":"m","x":1}]}`))
	api := load(t, server.URL, listing+"{style: one}\n")
	out := api.Call(t.Context(), "find", grant(""), []byte(`{"marker":"m"}`))
	want := `{"complete":true,"consistency":"strong","items":[{"id":"1","token":"m","item":{"id":1,"op":"m","x":1}}],"pages":1}`
	if out.Kind != deed.OutcomeSuccess || !strings.Contains(string(out.Result), `"structuredContent":`+want) {
		t.Errorf("%s %s", out.Kind, out.Result)
	}
	out = api.Call(t.Context(), "find", grant(""), []byte(`{}`))
	if out.Kind != deed.OutcomeUnknown || !out.ResultIsError {
		t.Errorf("without a marker: %s %s", out.Kind, out.Result)
	}
	tools, err := api.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const listed = `{"tools":[{"name":"x","inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":false,"idempotentHint":false,"openWorldHint":true}},` +
		`{"name":"find","inputSchema":{"type":"object","properties":{"marker":{}}},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":true}}]}`
	if diff := cmp.Diff(listed, string(tools)); diff != "" {
		t.Error(diff)
	}
	lookups := api.Lookups()
	if len(lookups) != 1 || lookups[0].Name != "find" || !lookups[0].Token || lookups[0].Consistency != connector.Strong || lookups[0].Lag != time.Duration(0) {
		t.Errorf("%+v", lookups)
	}
}

func TestDuplicatesAreLookedUp(t *testing.T) {
	const description = `system: linear
tools:
  create:
    method: POST
    path: /graphql
    body: {graphql: "mutation($input: IssueCreateInput!) { issueCreate(input: $input) { issue { id } } }", variables: {input: "{/input}"}}
    receipt: {id: /data/issueCreate/issue/id}
    client_id: {into: /input/id, format: uuid4}
    duplicate: [{text: "already exists|conflict on insert"}]
    reconcile: {lookup: issue, with: {id: "{client_id}"}}
lookups:
  issue:
    method: POST
    path: /graphql
    body: {graphql: "query($id: String!) { issue(id: $id) { id title } }", variables: {id: "{id}"}}
    not_found: [{at: /errors/0/extensions/code, is: NOT_FOUND}]
    match: {token: /data/issue/id, equals: "{id}"}
    id: /data/issue/id
    consistency: strong
`
	const mine = "3f1b0c9e-5a3d-4c57-9f0e-0123456789ab"
	duplicate := `{"errors":[{"message":"conflict on insert of Issue","extensions":{"code":"INPUT_ERROR"}}]}`
	for _, c := range []struct {
		name, found string
		marks       deed.Marks
		want        deed.OutcomeKind
	}{
		{"it is ours", `{"data":{"issue":{"id":"` + mine + `"}}}`, deed.Marks{ClientID: mine}, deed.OutcomeSuccess},
		{"it has another id", `{"data":{"issue":{"id":"other"}}}`, deed.Marks{ClientID: mine}, deed.OutcomeUnknown},
		{"it is not there", `{"errors":[{"extensions":{"code":"NOT_FOUND"}}]}`, deed.Marks{ClientID: mine}, deed.OutcomeUnknown},
		{"the look-up fails", `{"errors":[{"extensions":{"code":"RATELIMITED"}}]}`, deed.Marks{ClientID: mine}, deed.OutcomeUnknown},
		{"nothing was planted", `{"data":{"issue":{"id":"` + mine + `"}}}`, deed.Marks{}, deed.OutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			creates := 0
			server := record(t, nil)
			server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), "issueCreate") {
					creates++
					answers(400, duplicate)(w, r)
					return
				}
				answers(200, c.found)(w, r)
			})
			api := load(t, server.URL, description)
			g := grant("")
			g.Marks = c.marks
			out := api.Call(t.Context(), "create", g, []byte(`{"input":{"id":"`+mine+`","title":"t"}}`))
			if out.Kind != c.want || creates != 1 {
				t.Errorf("%s after %d creates: %s", out.Kind, creates, out.Message)
			}
			if out.Kind == deed.OutcomeSuccess && (out.Receipt.RemoteID != mine || out.Receipt.EstablishedBy != "reconcile:lookup:issue" || out.Receipt.RemoteSystem != "linear") {
				t.Errorf("%+v", out.Receipt)
			}
		})
	}
}
