// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
)

var update = flag.Bool("update", false, "write the golden files of the profiles anew")

// dialect drives one profile and writes its answers down.
type dialect struct {
	*rig
	name   string
	path   string
	book   strings.Builder
	status chan int // what the handler answers next, 200 without
}

// call sends a request that carries its key as the profile wants it.
func (d *dialect) call(n int, key, amount string) got {
	d.t.Helper()
	body := fmt.Sprintf(`{"order":"o%d","amount":%s}`, n, amount)
	if d.name == "adcp" {
		if key != "" {
			body = fmt.Sprintf(`{"idempotency_key":%q,"order":"o%d","amount":%s}`, key, n, amount)
		}
		return d.send("POST", d.path, body)
	}
	return d.send("POST", d.path, body, keyed(key, "")...)
}

// key is a well-shaped key of the profile.
func (d *dialect) key(n int) string {
	if d.name == "ucp" {
		return fmt.Sprintf("0b9f1b0e-0000-4000-8000-%012d", n)
	}
	return fmt.Sprintf("order-%d:charge:first", n)
}

// next says what the handler answers next; nothing is left of what it was told
// before.
func (d *dialect) next(status int) {
	select {
	case <-d.status:
	default:
	}
	d.status <- status
}

func (d *dialect) write(situation string, g got) {
	fmt.Fprintf(&d.book, "== %s\nHTTP %d\n", situation, g.status)
	for _, name := range []string{"Content-Type", "Idempotent-Replayed", "Retry-After", "Location", "Deed-Decision", "Deed-Reason", "Deed-Status"} {
		if v := g.header.Get(name); v != "" {
			fmt.Fprintf(&d.book, "%s: %s\n", name, v)
		}
	}
	var doc bytes.Buffer
	if json.Indent(&doc, []byte(g.body), "", "  ") != nil {
		doc.WriteString(g.body)
	}
	d.book.WriteString(strings.TrimSpace(doc.String()) + "\n\n")
}

var volatile = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`op_[0-9A-Z]{26}`), "op_X"},
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), "sha256:X"},
}

func TestProfilesAnswerAsTheirDialectsSay(t *testing.T) {
	for _, name := range httpgate.Profiles() {
		t.Run(name, func(t *testing.T) {
			d := &dialect{name: name, path: "/do/it", status: make(chan int, 1)}
			entered, leave := make(chan struct{}, 9), make(chan struct{})
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if bytes.Contains(body, []byte("777")) {
					entered <- struct{}{}
					<-leave
				}
				w.Header().Set("Content-Type", "application/json")
				select {
				case status := <-d.status:
					w.WriteHeader(status)
					_, _ = io.WriteString(w, `{"error":"it says why"}`)
				default:
					_, _ = io.WriteString(w, `{"id":"pay_1","ok":true}`)
				}
			})
			d.rig = build(t, setup{handler: handler, routes: []httpgate.Route{
				{Method: "POST", Pattern: "/do/it", Profile: name},
				{Method: "POST", Pattern: "/do/asked", Profile: name, Rule: func(rule *deed.Rule) {
					rule.NeedsApproval = func([]byte, deed.Principal) bool { return true }
				}},
			}, rule: func(rule *deed.Rule) { rule.Wait = time.Millisecond }})
			d.write("no key", d.call(1, "", "1"))
			d.write("a key of the wrong shape", d.call(2, "a key", "1"))
			d.write("first", d.call(3, d.key(3), "1"))
			d.write("replay", d.call(3, d.key(3), "1"))
			d.write("another payload", d.call(3, d.key(3), "2"))
			d.next(422)
			d.write("refused", d.call(4, d.key(4), "1"))
			d.next(422)
			d.write("repeat of the refused", d.call(4, d.key(4), "1"))
			d.next(500)
			d.write("the upstream answers 500", d.call(5, d.key(5), "1"))
			d.write("repeat of the unknown", d.call(5, d.key(5), "1"))
			select {
			case <-d.status:
			default:
			}
			d.path = "/do/asked"
			d.write("a person must approve", d.call(6, d.key(6), "1"))
			d.path = "/do/it"
			first := make(chan struct{})
			go func() { defer close(first); d.call(7, d.key(7), "777") }()
			<-entered
			d.write("in flight", d.call(7, d.key(7), "777"))
			d.write("in flight, another payload", d.call(7, d.key(7), "778"))
			close(leave)
			<-first
			have := d.book.String()
			for _, v := range volatile {
				have = v.pattern.ReplaceAllString(have, v.text)
			}
			file := filepath.Join("testdata", "profiles", name+".golden")
			if *update {
				must(t, os.MkdirAll(filepath.Dir(file), 0o755))
				must(t, os.WriteFile(file, []byte(have), 0o644))
			}
			want, err := os.ReadFile(file)
			must(t, err)
			if diff := cmp.Diff(string(want), have); diff != "" {
				t.Errorf("%s differs (-want +got), -update writes it anew:\n%s", file, diff)
			}
		})
	}
}

func TestAProfileThatScopesByPathKeepsPathsApart(t *testing.T) {
	r := overFixture(t, setup{routes: []httpgate.Route{{Method: "POST", Pattern: "/tools/*", Profile: "acp"}}})
	r.charge(order1, "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "execute")
	r.send("POST", "/tools/pay.refund", order1, "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "execute")
	r.charge(order1, "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "replay")
	long := strings.Repeat("k", 255)
	r.charge(`{"order_id":"o2"}`, "Idempotency-Key", long).wants(t, 200, "Deed-Decision", "execute")
	r.charge(`{"order_id":"o2"}`, "Idempotency-Key", long).wants(t, 200, "Deed-Decision", "replay")
	r.charge(`{"order_id":"o3"}`, "Idempotency-Key", long+"k").wants(t, 400)
	r.effects(3, 3)
}

func TestAKeyInTheBodyIsAString(t *testing.T) {
	r := overFixture(t, setup{routes: []httpgate.Route{{Method: "POST", Pattern: "/tools/*", Profile: "adcp"}}})
	for value, why := range map[string]string{
		"null": "it is null", "1000000000000000": "it is a number", "true": "it is a boolean", "{}": "it is an object", `["order-1:charge:first"]`: "it is an array", `""`: "it is empty",
	} {
		got := r.charge(`{"order_id":"o1","amount":1,"idempotency_key":` + value + `}`)
		got.wants(t, 400, "Deed-Reason", "bad_key")
		if !strings.Contains(got.body, "idempotency_key in the body: "+why) {
			t.Errorf("of %s it says %s", value, got.body)
		}
	}
	r.charge(`{"order_id":"o1","amount":1}`).wants(t, 400, "Deed-Reason", "missing_operation_key")
	r.effects(0, 0)
}

func TestKeysAreStringsOfRFC8941OrBare(t *testing.T) {
	for name, c := range map[string]struct {
		lines  []string
		reason string // "" where the request is the operation of key
	}{
		"bare":                            {[]string{key}, ""},
		"quoted":                          {[]string{`"` + key + `"`}, ""},
		"quoted with a parameter":         {[]string{`"` + key + `";a=1`}, ""},
		"with white space around":         {[]string{"  " + key + "\t"}, ""},
		"twice the same":                  {[]string{key, `"` + key + `"`}, ""},
		"a list of the same":              {[]string{key + ", " + key}, ""},
		"two different":                   {[]string{key, other}, "key_carriers_disagree"},
		"a list of two":                   {[]string{`"` + key + `", "` + other + `"`}, "key_carriers_disagree"},
		"a quote that stays open":         {[]string{`"` + key}, "bad_key"},
		"something behind the quote":      {[]string{`"` + key + `"x`}, "bad_key"},
		"an escape that is none":          {[]string{`"a\nb"`}, "bad_key"},
		"a string and a bare key":         {[]string{`"` + key + `", tok`}, "key_carriers_disagree"},
		"white space within":              {[]string{`"a b"`}, "bad_key"},
		"empty":                           {[]string{""}, "bad_key"},
		"an empty string":                 {[]string{`""`}, "bad_key"},
		"more than 255 characters":        {[]string{strings.Repeat("k", 256)}, "bad_key"},
		"characters beyond visible ASCII": {[]string{"caf\u00e9"}, "bad_key"},
	} {
		t.Run(name, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") })
			r := build(t, setup{routes: []httpgate.Route{{Method: "POST", Pattern: "/do/*"}}, handler: handler})
			r.send("POST", "/do/it", order1, "Idempotency-Key", key).wants(t, 200)
			req, err := http.NewRequest(http.MethodPost, r.url+"/do/it", strings.NewReader(order1))
			must(t, err)
			req.Header["Idempotency-Key"], req.Header["Content-Type"] = c.lines, []string{"application/json"}
			resp, err := r.client.Do(req)
			must(t, err)
			_ = resp.Body.Close()
			want, status := "stored", 200
			if c.reason != "" {
				want, status = c.reason, 400
			}
			if resp.StatusCode != status || resp.Header.Get("Deed-Reason") != want {
				t.Errorf("%d %s, want %d %s", resp.StatusCode, resp.Header.Get("Deed-Reason"), status, want)
			}
		})
	}
}

func TestRoutesThatCannotBeMeantAreRefused(t *testing.T) {
	for name, routes := range map[string][]httpgate.Route{
		"a method in small letters":       {{Method: "post", Pattern: "/x"}},
		"a path without a slash":          {{Method: "POST", Pattern: "x"}},
		"half a wildcard":                 {{Method: "POST", Pattern: "/a*"}},
		"a name twice":                    {{Method: "POST", Pattern: "/{a}/{a}"}},
		"two routes of one shape":         {{Method: "POST", Pattern: "/{a}"}, {Method: "POST", Pattern: "/*"}},
		"an unknown profile":              {{Method: "POST", Pattern: "/x", Profile: "ieft"}},
		"a success that refuses":          {{Method: "POST", Pattern: "/x", Refused: []int{204}}},
		"a credential as effect":          {{Method: "POST", Pattern: "/x", Headers: []string{"authorization"}}},
		"a tool with rules of the route":  {{Method: "POST", Pattern: "/x", As: "a/b", Matter: []string{"/x"}}},
		"query arguments without a tool":  {{Method: "POST", Pattern: "/x", Query: []string{"a"}}},
		"one tool, two rules of its keys": {{Method: "POST", Pattern: "/x", As: "a/b"}, {Method: "POST", Pattern: "/y", As: "a/b", Key: deed.KeyRule{Need: deed.NeedOptional}}},
	} {
		if _, err := httpgate.NewRoutes("pay", routes); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
