// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package inject_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/inject"
	"github.com/deed-run/deed/faultkit/provider"
)

// hop puts a proxy in front of a fixture provider.
func hop(t *testing.T, p *inject.Proxy) (url string, dir string) {
	t.Helper()
	dir = t.TempDir()
	fixture, err := provider.Open(provider.Options{Dir: dir})
	must(t, err)
	target := httptest.NewServer(fixture.Handler())
	t.Cleanup(func() {
		must(t, fixture.Close())
		target.Close()
	})
	p.Target = parse(t, target.URL)
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	return front.URL, dir
}

func parse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	must(t, err)
	return u
}

func TestTheProxyLosesRepliesAfterTheEffect(t *testing.T) {
	cases := []struct {
		name    string
		proxy   inject.Proxy
		mishap  inject.Mishap
		answer  bool
		effects int
	}{
		{"passes", inject.Proxy{}, inject.None, true, 1},
		{"delays", inject.Proxy{Delay: time.Millisecond}, inject.None, true, 1},
		{"loses", inject.Proxy{}, inject.LoseReply, false, 1},
		{"cuts in the middle", inject.Proxy{}, inject.CutReply, false, 1},
		{"cuts after a byte", inject.Proxy{CutAfter: 1}, inject.CutReply, false, 1},
		{"cuts before a byte", inject.Proxy{CutAfter: -1}, inject.CutReply, false, 1},
		{"doubles", inject.Proxy{}, inject.Duplicate, true, 2},
	}
	for _, version := range []string{caller.Modern, caller.Legacy} {
		for _, c := range cases {
			t.Run(c.name+" "+version, func(t *testing.T) {
				controller := inject.NewController(inject.Plan{Mishap: c.mishap})
				proxy := &inject.Proxy{Judge: controller, CutAfter: c.proxy.CutAfter, Delay: c.proxy.Delay}
				front, dir := hop(t, proxy)
				s, err := caller.DialHTTP(patience(t), front+"/mcp", version, nil)
				must(t, err)
				_, err = caller.CallTool(patience(t), s, charge("o1"))
				if c.answer && err != nil || !c.answer && !errors.Is(err, caller.ErrNoAnswer) {
					t.Errorf("call: %v", err)
				}
				if c.mishap != inject.None {
					must(t, controller.AwaitStruck(patience(t), 1))
				}
				if n := effects(t, dir); n != c.effects {
					t.Errorf("%d effects, want %d", n, c.effects)
				}
			})
		}
	}
}

func TestTheProxyStrikesPlainPostsToo(t *testing.T) {
	controller := inject.NewController(inject.Plan{Mishap: inject.LoseReply, Tool: "/tools/pay.charge"})
	front, dir := hop(t, &inject.Proxy{Judge: controller})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Post(front+"/tools/pay.charge", "application/json", strings.NewReader(`{"order_id":"o1"}`))
	if err == nil {
		_ = res.Body.Close()
		t.Error("the reply was not lost")
	}
	if n := effects(t, dir); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}

func TestTheProxyAnswersForAServerThatIsNotThere(t *testing.T) {
	front := httptest.NewServer(&inject.Proxy{Target: parse(t, "http://127.0.0.1:1")})
	t.Cleanup(front.Close)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Post(front.URL, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`))
	must(t, err)
	said, err := io.ReadAll(res.Body)
	must(t, errors.Join(err, res.Body.Close()))
	if res.StatusCode != http.StatusBadGateway || !strings.Contains(string(said), "cannot be reached") {
		t.Errorf("got %d %q", res.StatusCode, said)
	}
}
