// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/server"
	"github.com/deed-run/deed/storetest"
)

const callPath = "/v1/tools/pay/refund/calls"

func TestKeysOfTheHeader(t *testing.T) {
	for name, c := range map[string]struct {
		lines  []string
		reason deed.Reason
	}{
		"bare":                        {[]string{firstKey}, ""},
		"quoted":                      {[]string{`"` + firstKey + `"`}, ""},
		"quoted with parameters":      {[]string{`"` + firstKey + `"; v=1`}, ""},
		"with spaces around":          {[]string{"  " + firstKey + "\t"}, ""},
		"escaped":                     {[]string{`"refund\"order-1042:first"`}, deed.ReasonBadKey},
		"the same on two lines":       {[]string{firstKey, `"` + firstKey + `"`}, ""},
		"the same twice on a line":    {[]string{firstKey + `, "` + firstKey + `"`}, ""},
		"two on two lines":            {[]string{firstKey, "refund:order-1042:other"}, deed.ReasonKeyCarriersDisagree},
		"two on a line":               {[]string{`"` + firstKey + `", "refund:order-1042:other"`}, deed.ReasonKeyCarriersDisagree},
		"none":                        {nil, deed.ReasonMissingOperationKey},
		"empty":                       {[]string{""}, deed.ReasonBadKey},
		"an empty string":             {[]string{`""`}, deed.ReasonBadKey},
		"too short":                   {[]string{"refund:1042"}, deed.ReasonBadKey},
		"too long":                    {[]string{strings.Repeat("k", 256)}, deed.ReasonBadKey},
		"with a space":                {[]string{"refund order 1042 first"}, deed.ReasonBadKey},
		"without a closing quote":     {[]string{`"` + firstKey}, deed.ReasonBadKey},
		"with text behind the quote":  {[]string{`"` + firstKey + `"x`}, deed.ReasonBadKey},
		"with a bad escape":           {[]string{`"refund\order-1042:first"`}, deed.ReasonBadKey},
		"ending in a backslash":       {[]string{`"` + firstKey + `\`}, deed.ReasonBadKey},
		"with a letter beyond ASCII":  {[]string{`"` + firstKey + "\xc3\xa9" + `"`}, deed.ReasonBadKey},
		"bare, a letter beyond ASCII": {[]string{firstKey + "\xc3\xa9"}, deed.ReasonBadKey},
		"a key and an empty one":      {[]string{firstKey + ","}, deed.ReasonBadKey},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			req := httptest.NewRequest(http.MethodPost, callPath, strings.NewReader(refund12))
			req.Header.Set("Authorization", "Bearer agent")
			req.Header.Set("Content-Type", "application/json; charset=UTF-8")
			req.Header["Idempotency-Key"] = c.lines
			w := httptest.NewRecorder()
			r.server.ServeHTTP(w, req)
			got := &response{t: t, ResponseRecorder: w}
			if c.reason != "" {
				got.want(400, deed.Denied, c.reason)
				return
			}
			var a api.CallAnswer
			if got.into(200, &a); a.Operation.Key != firstKey {
				t.Errorf("the key is %q", a.Operation.Key)
			}
		})
	}
}

func TestRequestsThatAreRefusedBeforeAnythingIsDone(t *testing.T) {
	json := map[string]string{"Content-Type": "application/json"}
	for name, c := range map[string]struct {
		q    request
		code int
	}{
		"nobody known":             {request{as: "nobody", method: "POST", path: callPath, body: refund12}, 401},
		"no JSON":                  {request{method: "POST", path: callPath, body: `{"arguments":`}, 400},
		"text behind the JSON":     {request{method: "POST", path: callPath, body: `{"arguments":{}}{}`}, 400},
		"a list":                   {request{method: "POST", path: callPath, body: `[]`}, 400},
		"null":                     {request{method: "POST", path: callPath, body: `null`}, 400},
		"nothing":                  {request{method: "POST", path: callPath, header: json}, 400},
		"a member twice":           {request{method: "POST", path: callPath, body: `{"arguments":{},"arguments":{"a":1}}`}, 400},
		"a nested member twice":    {request{method: "POST", path: callPath, body: `{"arguments":{"a":{"b":1,"b":2}}}`}, 400},
		"an unknown member":        {request{method: "POST", path: callPath, body: `{"arguments":{},"key":"x"}`}, 400},
		"a member in another case": {request{method: "POST", path: callPath, body: `{"Arguments":{}}`}, 400},
		"no UTF-8":                 {request{method: "POST", path: callPath, body: "{\"arguments\":{\"a\":\"\xff\"}}"}, 400},
		"a byte order mark":        {request{method: "POST", path: callPath, body: "\xef\xbb\xbf{\"arguments\":{}}"}, 400},
		"meta that is no text":     {request{method: "POST", path: callPath, body: `{"arguments":{},"meta":{"run":1}}`}, 400},
		"meta without end":         {request{method: "POST", path: callPath, body: `{"arguments":{},"meta":{"run":"` + strings.Repeat("x", 300) + `"}}`}, 400},
		"arguments of a list":      {request{method: "POST", path: callPath, body: `{"arguments":[1]}`}, 400},
		"too deep":                 {request{method: "POST", path: callPath, body: `{"arguments":` + strings.Repeat(`{"a":`, 5000) + `1` + strings.Repeat(`}`, 5000) + `}`}, 400},
		"another type":             {request{method: "POST", path: callPath, body: refund12, header: map[string]string{"Content-Type": "text/plain"}}, 415},
		"another charset":          {request{method: "POST", path: callPath, body: refund12, header: map[string]string{"Content-Type": "application/json; charset=latin1"}}, 415},
		"a form":                   {request{method: "POST", path: callPath, body: "arguments=1", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, 415},
		"compressed":               {request{method: "POST", path: callPath, body: refund12, header: map[string]string{"Content-Encoding": "gzip"}}, 415},
		"too long":                 {request{method: "POST", path: callPath, body: `{"arguments":{"a":"` + strings.Repeat("x", 5<<20) + `"}}`}, 413},
		"another origin":           {request{method: "POST", path: callPath, body: refund12, header: map[string]string{"Origin": "https://evil.example"}}, 403},
		"another site":             {request{method: "POST", path: callPath, body: refund12, header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, 403},
		"a preflight":              {request{method: "OPTIONS", path: callPath, header: map[string]string{"Origin": "https://evil.example"}}, 405},
		"another method":           {request{method: "DELETE", path: "/v1/operations/op_1"}, 405},
		"an unknown path":          {request{method: "GET", path: "/v1/nothing"}, 404},
		"a path to be cleaned":     {request{method: "POST", path: "/v1//tools/pay/refund/calls", body: refund12}, 404},
		"a path that climbs":       {request{method: "POST", path: "/v1/x/../tools/pay/refund/calls", body: refund12}, 404},
		"a slash too many":         {request{method: "POST", path: callPath + "/", body: refund12}, 404},
		"an unknown path's post":   {request{method: "POST", path: "/v1/nothing"}, 404},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			c.q.key = firstKey
			got := r.do(c.q)
			got.problem(c.code)
			if n := r.tools.effects.Load(); n != 0 {
				t.Errorf("%d effects", n)
			}
			for header := range got.Header() {
				if strings.HasPrefix(header, "Access-Control-") {
					t.Errorf("%s lets pages of other origins in", header)
				}
			}
			if cache := got.Header().Get("Cache-Control"); cache != "no-store" {
				t.Errorf("Cache-Control %q", cache)
			}
			var page api.Operations
			if r.get("reader", "/v1/operations").into(200, &page); len(page.Operations) != 0 {
				t.Errorf("it left %+v", page.Operations)
			}
		})
	}
}

func TestTheChallengeAsksForAToken(t *testing.T) {
	r := newRig(t, nil)
	got := r.do(request{as: "nobody", method: "GET", path: "/v1/operations"})
	got.want(401, deed.Denied, deed.ReasonUnauthenticated)
	if challenge := got.Header().Get("WWW-Authenticate"); challenge != `Bearer realm="deed", error="invalid_token"` {
		t.Error(challenge)
	}
}

func TestANameThatPointsAtThisMachineIsNotAnswered(t *testing.T) {
	r := newRig(t, nil)
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7391}
	for host, code := range map[string]int{
		"127.0.0.1:7391": 200, "localhost:7391": 200, "[::1]:7391": 200, "evil.example": 403, "127.0.0.1.evil.example:7391": 403,
	} {
		req := httptest.NewRequest(http.MethodGet, "/v1/operations", nil)
		req = req.WithContext(context.WithValue(req.Context(), http.LocalAddrContextKey, local))
		req.Host = host
		req.Header.Set("Authorization", "Bearer agent")
		w := httptest.NewRecorder()
		if r.server.ServeHTTP(w, req); w.Code != code {
			t.Errorf("Host %s: HTTP %d, want %d", host, w.Code, code)
		}
	}
}

// down is a ledger that does not answer.
type down struct{ deed.Store }

var errDown = errors.Join(deed.ErrUnavailable, errors.New("the disk is gone"))

func (down) Transact(context.Context, deed.Scope, func(deed.View) (deed.Change, error)) (deed.View, error) {
	return deed.View{}, errDown
}
func (down) Load(context.Context, deed.Scope) (deed.View, error)         { return deed.View{}, errDown }
func (down) List(context.Context, deed.Query) (deed.Page, error)         { return deed.Page{}, errDown }
func (down) Append(context.Context, []deed.Event, deed.Durability) error { return errDown }

func TestALedgerThatDoesNotAnswer(t *testing.T) {
	clock := storetest.NewClock(noon)
	r := newRigOver(t, clock, down{storetest.NewMemory(clock)}, nil)
	r.call(firstKey, refund12).want(503, deed.Denied, deed.ReasonStoreUnavailable)
	r.post("/v1/claims", claimBody("")).want(503, deed.Denied, deed.ReasonStoreUnavailable)
	for _, q := range []request{
		{method: "GET", path: "/v1/operations"}, {method: "GET", path: "/v1/operations/op_1"}, {method: "GET", path: "/v1/stats"},
		{method: "POST", path: "/v1/operations/op_1/cancel", body: "{}"},
		{method: "POST", path: "/v1/claims/op_1/settle", body: `{"attempt":1,"outcome":"committed"}`},
		{method: "POST", path: "/v1/claims/op_1/renew", body: `{"attempt":1}`},
	} {
		if p := r.do(q).problem(503); p.Reason != deed.ReasonStoreUnavailable || strings.Contains(p.Detail, "disk") {
			t.Errorf("%s: %+v", q.path, p)
		}
	}
	if r.tools.effects.Load() != 0 {
		t.Error("it was sent without a record")
	}
}

// full is a ledger that takes no writes any more.
type full struct {
	deed.Store
	now bool
}

func (f *full) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	if f.now {
		return deed.View{}, errDown
	}
	return f.Store.Transact(ctx, scope, change)
}

func TestAnOutcomeThatCannotBeRecordedIsSentAgain(t *testing.T) {
	clock := storetest.NewClock(noon)
	store := &full{Store: storetest.NewMemory(clock)}
	r := newRigOver(t, clock, store, nil)
	granted := r.claim("agent", "")
	store.now = true
	got := r.settle(granted.OperationID, `{"attempt":1,"outcome":"committed","receipt":{"remote_id":"re_1"}}`)
	if got.problem(503); got.Header().Get("Retry-After") == "" {
		t.Errorf("%v", got.Header())
	}
	store.now = false
	var op api.Operation
	r.settle(granted.OperationID, `{"attempt":1,"outcome":"committed","receipt":{"remote_id":"re_1"}}`).into(200, &op)
	if op.Status != deed.StatusCommitted || len(op.Receipts) != 1 {
		t.Errorf("%+v", op)
	}
}

func TestAServerNeedsARuntimeAndAnAuthenticator(t *testing.T) {
	if _, err := server.New(server.Options{Auth: byToken}); err == nil {
		t.Error("without a Runtime")
	}
	if _, err := server.New(server.Options{Runtime: newRig(t, nil).rt}); err == nil {
		t.Error("without an Authenticator everybody would be let in")
	}
}
