// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
)

// raw writes bytes to the gate and closes the sending half.
func (r *rig) raw(text string) string {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	must(r.t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, text)
	must(r.t, err)
	must(r.t, conn.(*net.TCPConn).CloseWrite())
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "no answer"
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.Status
}

// operations counts the records of the ledger.
func (r *rig) operations() int {
	r.t.Helper()
	page, err := r.runtime.List(context.Background(), deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightRead}}, deed.Query{Limit: 100})
	must(r.t, err)
	return len(page.Operations)
}

func TestABodyThatBreaksOffClaimsNothing(t *testing.T) {
	r := overFixture(t, setup{})
	head := "POST /tools/pay.charge HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: " + key + "\r\nContent-Type: application/json\r\n"
	for name, request := range map[string]string{
		"disconnect mid-body":                head + "Content-Length: 500\r\n\r\n" + order1,
		"chunked without its end":            head + "Transfer-Encoding: chunked\r\n\r\n1d\r\n" + order1 + "\r\n",
		"a chunk shorter than it says":       head + "Transfer-Encoding: chunked\r\n\r\nff\r\n" + order1,
		"a chunk size that is none":          head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + order1 + "\r\n0\r\n\r\n",
		"a chunk that says more than it has": head + "Transfer-Encoding: chunked\r\n\r\n1\r\n" + order1 + "\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.raw(request); got != "400 Bad Request" && got != "no answer" {
				t.Errorf("answered %s", got)
			}
		})
	}
	if n := r.operations(); n != 0 {
		t.Errorf("%d operations were recorded", n)
	}
	r.effects(0, 0)
	r.charge(order1, "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "execute")
}

func TestRequestsThatMeanNothingClaimNothing(t *testing.T) {
	r := overFixture(t, setup{edit: func(o *httpgate.Options) { o.MaxBody = 1000 }})
	r.charge("{not json", "Idempotency-Key", key).wants(t, 400, "Deed-Reason", "bad_arguments")
	r.charge(`{"a":1,"a":2}`, "Idempotency-Key", key).wants(t, 400, "Deed-Reason", "bad_arguments")
	r.charge(order1+" {}", "Idempotency-Key", key).wants(t, 400)
	r.charge("{\"a\":\"\xff\"}", "Idempotency-Key", key).wants(t, 400)
	r.charge(`{"a":"`+strings.Repeat("x", 1000)+`"}`, "Idempotency-Key", key).wants(t, 413)
	r.send("POST", "/tools/%2e%2e/tools/pay.charge", order1, "Idempotency-Key", key).wants(t, 400)
	r.send("POST", "//tools/pay.charge", order1, "Idempotency-Key", key).wants(t, 400)
	r.send("POST", "/tools/pay.charge?a=%zz", order1, "Idempotency-Key", key).wants(t, 400)
	r.send("BREW", "/tools/pay.charge", order1, "Idempotency-Key", key).wants(t, 405)
	r.charge(order1, "Idempotency-Key", key, "Sec-Fetch-Site", "cross-site").wants(t, 403)
	if n := r.operations(); n != 0 {
		t.Errorf("%d operations were recorded", n)
	}
	r.effects(0, 0)
}

// echo is an upstream that writes down what reached it.
func echo(t *testing.T, seen *[]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*seen = append(*seen, r.Method+" "+r.RequestURI+" "+r.Header.Get("Content-Type")+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "session=secret")
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "1")
		w.Header().Set("X-Trace", "t1")
		_, _ = io.WriteString(w, `{"id":"x1","authorization":"`+r.Header.Get("Authorization")+`","key":"`+r.Header.Get("Idempotency-Key")+`","cookie":"`+r.Header.Get("Cookie")+`","account":"`+r.Header.Get("X-Account")+`","meta":"`+r.Header.Get("Deed-Meta-Run")+`"}`)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestTheUpstreamGetsTheBytesOfTheCaller(t *testing.T) {
	var seen []string
	s := echo(t, &seen)
	r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: s.URL + "/base/"}})
	bodies := []struct{ kind, body string }{
		{"application/json", " {\"b\": 1.50,\n\t\"a\":\"\u00e9\"} \n"},
		{"application/vnd.api+json", `[1, 2]`},
		{"application/x-www-form-urlencoded", "b=2&a=1&b=3&c%5B%5D=x+y"},
		{"application/octet-stream", "\x00\xff\x01"},
		{"text/plain; charset=utf-8", "hello"},
		{"", ""},
	}
	var want []string
	for i, b := range bodies {
		header := []string{"Idempotency-Key", key + string(rune('a'+i)), "Content-Type", b.kind}
		r.send("POST", "/do/a%2Fb?z=1&a=%20&flag", b.body, header...).wants(t, 200)
		r.send("POST", "/do/a%2Fb?z=1&a=%20&flag", b.body, header...).wants(t, 200, "Idempotent-Replayed", "true")
		want = append(want, "POST /base/do/a%2Fb?z=1&a=%20&flag "+b.kind+" "+b.body)
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("the upstream got (-want +got):\n%s", diff)
	}
}

func TestEqualFormsAreOneEffect(t *testing.T) {
	var seen []string
	s := echo(t, &seen)
	r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: s.URL}})
	send := func(path, body string) got {
		return r.send("POST", path, body, "Idempotency-Key", key, "Content-Type", "application/x-www-form-urlencoded")
	}
	send("/do/it?x=1&y=2", "amount=100&currency=eur").wants(t, 200)
	send("/do/it?y=2&x=1", "currency=eur&amount=%3100").wants(t, 200, "Idempotent-Replayed", "true")
	send("/do/it?x=1&y=2", "amount=100&currency=usd").wants(t, 422)
	if len(seen) != 1 {
		t.Errorf("%d requests", len(seen))
	}
}

func TestPointersOfPathQueryAndBodyChooseTheEffect(t *testing.T) {
	var seen []string
	s := echo(t, &seen)
	r := build(t, setup{upstream: httpgate.Upstream{URL: s.URL}, routes: []httpgate.Route{{
		Method: "POST", Pattern: "/orders/{order}/refunds", Headers: []string{"x-account"},
		Fingerprint: deed.FingerprintRules{Exclude: []string{"/query/trace", "/body/note"}},
		Key:         deed.KeyRule{From: []string{"tenant", "meta.run", "/path/order", "/body/line"}},
	}}})
	send := func(path, body, account string) got {
		return r.send("POST", path, body, "Deed-Meta-Run", "run-1", "X-Account", account)
	}
	first := send("/orders/7/refunds?trace=1", `{"line":1,"note":"a"}`, "acct")
	first.wants(t, 200, "Deed-Decision", "execute")
	if first.member(t, "account") != "acct" || first.member(t, "meta") != "" {
		t.Error(first.body)
	}
	send("/orders/7/refunds?trace=2", `{"line":1,"note":"b"}`, "acct").wants(t, 200, "Deed-Decision", "replay")
	send("/orders/7/refunds", `{"line":1,"amount":5}`, "acct").wants(t, 422)
	send("/orders/7/refunds", `{"line":1}`, "other").wants(t, 422)
	send("/orders/8/refunds", `{"line":1}`, "acct").wants(t, 200, "Deed-Decision", "execute")
	send("/orders/8/refunds", `{}`, "acct").wants(t, 400, "Deed-Reason", "missing_operation_key")
	if len(seen) != 2 {
		t.Errorf("%d requests", len(seen))
	}
}

func TestCredentialsAndKeysStayHere(t *testing.T) {
	var seen []string
	s := echo(t, &seen)
	for _, forward := range []bool{false, true} {
		r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{
			URL: s.URL, ForwardCredentials: forward, Header: http.Header{"X-Account": {"live"}},
		}})
		for _, path := range []string{"/do/it", "/read"} {
			method := map[string]string{"/do/it": "POST", "/read": "GET"}[path]
			g := r.send(method, path, "", "Authorization", "Bearer agent", "Cookie", "c=1", "Idempotency-Key", key, "X-Account", "forged")
			g.wants(t, 200, "X-Trace", "t1", "X-Hop", "")
			authorization, cookie, set := "", "", ""
			if forward {
				authorization, cookie, set = "Bearer agent", "c=1", "session=secret"
			}
			if g.member(t, "authorization") != authorization || g.member(t, "cookie") != cookie || g.member(t, "key") != "" || g.member(t, "account") != "live" {
				t.Errorf("forward=%v %s: %s", forward, path, g.body)
			}
			if g.header.Get("Set-Cookie") != set {
				t.Errorf("forward=%v %s: cookie %q", forward, path, g.header.Get("Set-Cookie"))
			}
		}
		again := r.send("POST", "/do/it", "", "Authorization", "Bearer agent", "Idempotency-Key", key)
		again.wants(t, 200, "Idempotent-Replayed", "true", "Set-Cookie", "", "X-Trace", "t1", "X-Hop", "")
	}
}

// A browser that is signed in at the console sends its session to every path of the
// host.
func TestTheConsolesCookiesAreNeitherHandedOnNorSetByAnAPI(t *testing.T) {
	var cookies []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookies = append(cookies, r.Header.Values("Cookie")...)
		for _, name := range []string{"deed_session", "__Host-deed_session", "__HOST-Deed_Login", "theirs"} {
			w.Header().Add("Set-Cookie", name+"=set; Path=/")
		}
	}))
	defer api.Close()
	r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: api.URL, ForwardCredentials: true}})
	for _, method := range []string{"GET", "POST"} {
		g := r.send(method, "/do/it", "", "Cookie", "deed_session=s; theirs=t; __Host-deed_session=u;deed_theme=dark;  mine = m", "Idempotency-Key", key)
		if diff := cmp.Diff([]string{"theirs=set; Path=/"}, g.header.Values("Set-Cookie")); diff != "" {
			t.Errorf("%s sets cookies (-want +got):\n%s", method, diff)
		}
		r.send(method, "/do/it", "", "Cookie", "deed_session=s", "Idempotency-Key", other).wants(t, 200)
	}
	if diff := cmp.Diff([]string{"theirs=t; mine = m", "theirs=t; mine = m"}, cookies); diff != "" {
		t.Errorf("the API was sent (-want +got):\n%s", diff)
	}
}
