// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// route is one operation of the API. The multiplexer and the OpenAPI document
// are both made from the table of them.
type route struct {
	method  string
	path    string
	summary string
	handle  func(*Server, *exchange) reply
	// gives: its answer may hand out an attempt, which the server waits for as it ends.
	gives bool
	// request and response are zero values of the bodies' types; nil for none.
	request  any
	response any
	query    []parameter
	headers  []parameter
	// codes are the answers beside the problems: 200 first.
	codes []int
	// problems are the codes answered with a problem, beside those of every
	// route.
	problems []int
}

type parameter struct {
	name     string
	about    string
	integer  bool
	repeated bool
}

// routes is the whole API. It is a function so that nobody can change it.
func routes() []route {
	id := "/v1/operations/{id}"
	admission := []int{400, 402, 403, 409, 410, 413, 415, 422, 429, 503}
	idempotencyKey := parameter{name: "Idempotency-Key", about: "The operation's name: an RFC 8941 string, quoted or bare, 16 to 255 of A-Z a-z 0-9 _ . : -"}
	verb := func(name, summary string, handle func(*Server, *exchange) reply, body any) route {
		return route{
			method: http.MethodPost, path: id + "/" + name, summary: summary, handle: handle,
			request: body, response: api.Operation{}, codes: []int{200}, problems: []int{400, 403, 404, 409, 413, 415, 503},
		}
	}
	list := []route{
		{
			method: http.MethodPost, path: "/v1/tools/{upstream}/{tool}/calls", summary: "Call a tool at most once",
			handle: (*Server).call, request: api.CallRequest{}, response: api.CallAnswer{}, headers: []parameter{idempotencyKey},
			codes: []int{200, 202}, problems: append([]int{404, 502}, admission...),
		},
		{
			method: http.MethodPost, path: "/v1/claims", summary: "Claim an effect that the caller carries out itself",
			handle: (*Server).claim, gives: true, request: api.ClaimRequest{}, response: api.ClaimAnswer{}, headers: []parameter{idempotencyKey},
			codes: []int{200, 202}, problems: admission,
		},
		{
			method: http.MethodPost, path: "/v1/claims/{id}/settle", summary: "Report how a claimed attempt ended; repeatable",
			handle: (*Server).settle, request: api.SettleRequest{}, response: api.Operation{},
			codes: []int{200}, problems: []int{400, 403, 404, 409, 413, 415, 503},
		},
		{
			method: http.MethodPost, path: "/v1/claims/{id}/renew", summary: "Extend the lease of a claimed attempt",
			handle: (*Server).renew, request: api.RenewRequest{}, response: api.Lease{},
			codes: []int{200}, problems: []int{400, 403, 404, 409, 413, 415, 503},
		},
		{
			method: http.MethodGet, path: "/v1/operations", summary: "List operations, newest first",
			handle: (*Server).list, response: api.Operations{}, query: listParameters(), codes: []int{200}, problems: []int{400, 503},
		},
		{
			method: http.MethodGet, path: id, summary: "Show one operation with its arguments",
			handle: (*Server).show, response: api.Operation{}, codes: []int{200}, problems: []int{404, 503},
		},
		{
			method: http.MethodGet, path: id + "/events", summary: "Show the history of an operation",
			handle: (*Server).events, response: api.Events{}, codes: []int{200}, problems: []int{404, 503},
		},
		verb("resolve", "Decide what became of an uncertain operation; needs the right to resolve", (*Server).resolve, api.ResolveRequest{}),
		verb("cancel", "Withdraw an operation: no further attempt is made", (*Server).cancel, api.ReasonRequest{}),
		verb("reopen", "Make a finally failed operation retryable again; needs the right to resolve", (*Server).reopen, api.ReasonRequest{}),
		verb("approve", "Consent to the proposal that the digest names, or to an edited one; needs the right to approve", (*Server).approve, api.ApproveRequest{}),
		verb("deny", "Refuse the proposal that the digest names; needs the right to approve", (*Server).deny, api.DenyRequest{}),
		{
			method: http.MethodPost, path: id + "/reconcile", summary: "Look an uncertain operation up at its provider, once; needs the right to resolve",
			handle: (*Server).reconcile, request: api.ReasonRequest{}, response: api.Finding{},
			codes: []int{200}, problems: []int{400, 403, 404, 409, 413, 415, 503},
		},
		{
			method: http.MethodPost, path: id + "/run", summary: "Send the frozen snapshot where the operation allows an attempt; needs the right to resolve",
			handle: (*Server).run, request: api.ReasonRequest{}, response: api.CallAnswer{},
			codes: []int{200, 202}, problems: append([]int{404, 502}, admission...),
		},
		{
			method: http.MethodGet, path: "/v1/budgets", summary: "Show how the budgets stand; needs the right to read",
			handle: (*Server).budgets, response: api.Budgets{}, codes: []int{200}, problems: []int{403, 503},
		},
		{
			method: http.MethodGet, path: "/v1/stats", summary: "Count operations by status",
			handle: (*Server).stats, response: api.Stats{}, codes: []int{200}, problems: []int{503},
		},
	}
	return list
}

func listParameters() []parameter {
	filters := []string{
		string(deed.FilterPending), string(deed.FilterAccepted), string(deed.FilterFailed), string(deed.FilterUncertain), string(deed.FilterClosed),
	}
	return []parameter{
		{name: "status", about: "A status, or a group: " + strings.Join(filters, ", "), repeated: true},
		{name: "tool", about: "upstream/name"},
		{name: "actor", about: "Who began it"},
		{name: "key", about: "A key or alias of it"},
		{name: "fingerprint", about: "The effect fingerprint"},
		{name: "matter", about: `The subject, as the JSON list of its values, or the only one of them`},
		{name: "reason", about: "The reason of its status"},
		{name: "needs_person", about: "true leaves the uncertain operations that no look-up moves on"},
		{name: "meta.{name}", about: "A fact that the call carried, such as meta.conversation"},
		{name: "before", about: "The cursor: next of the page before"},
		{name: "limit", about: "1 to 1000, by default 50", integer: true},
	}
}

// mux serves the table: every path answers methods that it has not with 405.
func (s *Server) mux(table []route) *http.ServeMux {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range table {
		methods[r.path] = append(methods[r.path], r.method)
		mux.HandleFunc(r.method+" "+r.path, s.serve(r))
	}
	methods["/openapi.json"] = []string{http.MethodGet}
	mux.HandleFunc("GET /openapi.json", s.describeItself)
	for path, allowed := range methods {
		slices.Sort(allowed)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			no := problem(http.StatusMethodNotAllowed, api.TypeMethodNotAllowed, "The method is not allowed here", "this address knows "+strings.Join(allowed, ", "))
			no.header.Set("Allow", strings.Join(allowed, ", "))
			s.write(w, r, no)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.write(w, r, notFound()) })
	return mux
}

func (s *Server) describeItself(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.document)
}
