// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/server"
	"github.com/deed-run/deed/storetest"
)

// listen serves a rig on a socket.
func (r *rig) listen() string {
	r.t.Helper()
	web := httptest.NewServer(r.server)
	r.t.Cleanup(web.Close)
	return web.Listener.Addr().String()
}

// say writes raw HTTP and returns the code of the answer, 0 without one.
func say(t *testing.T, address, text string, half bool) int {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		return 0
	}
	if half {
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

const head = "POST /v1/tools/pay/refund/calls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer agent\r\nContent-Type: application/json\r\nIdempotency-Key: " + firstKey + "\r\n"

func TestBodiesThatLieOrBreakOffClaimNothing(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		code int
	}{
		"cut in the middle":            {head + "Content-Length: 100\r\n\r\n" + `{"arguments":{"order_`, 400},
		"chunks that break off":        {head + "Transfer-Encoding: chunked\r\n\r\n10\r\n" + `{"arguments":{}}`, 400},
		"a chunk that is no chunk":     {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
		"a chunk shorter than it says": {head + "Transfer-Encoding: chunked\r\n\r\nff\r\n" + `{"arguments":{}}` + "\r\n0\r\n\r\n", 400},
		"two lengths":                  {head + "Content-Length: 16\r\nContent-Length: 17\r\n\r\n" + `{"arguments":{}}`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			if code := say(t, r.listen(), c.text, true); code != c.code {
				t.Errorf("HTTP %d, want %d", code, c.code)
			}
			if n := r.tools.effects.Load(); n != 0 {
				t.Errorf("%d effects", n)
			}
			if granted := r.claim("agent", ""); granted.Attempt != 1 {
				t.Errorf("the key did not stay free: %+v", granted)
			}
		})
	}
}

func TestABodyThatNeverArrivesIsNotWaitedForLong(t *testing.T) {
	r := newRig(t, nil)
	s, err := server.New(server.Options{Runtime: r.rt, Auth: byToken, Tools: r.tools, ReadWithin: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	r.server = s
	if code := say(t, r.listen(), head+"Content-Length: 100\r\n\r\n{", false); code != 400 && code != 0 {
		t.Errorf("HTTP %d", code)
	}
	if n := r.tools.effects.Load(); n != 0 {
		t.Errorf("%d effects", n)
	}
}

func TestFiftyCallersOfOneKeyMakeOneEffect(t *testing.T) {
	onEveryStore(t, func(rule *deed.Rule) { rule.Wait = 0 }, func(r *rig) {
		address := "http://" + r.listen()
		client, err := api.New(api.Options{BaseURL: address, Token: "agent", HTTP: &http.Client{Transport: &http.Transport{}}})
		if err != nil {
			r.t.Fatal(err)
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		decisions := map[string]int{}
		for range 50 {
			all.Go(func() {
				a, err := client.Call(context.Background(), tool, firstKey, api.CallRequest{Arguments: []byte(`{"order_id":"1042","amount":12}`)})
				word := fmt.Sprint(a.Decision)
				if err != nil {
					word = err.Error()
				}
				mu.Lock()
				defer mu.Unlock()
				decisions[word]++
			})
		}
		all.Wait()
		if decisions["execute"] != 1 || decisions["replay"] != 49 || r.tools.effects.Load() != 1 {
			r.t.Errorf("%v, %d effects", decisions, r.tools.effects.Load())
		}
	})
}

func TestAFollowerThatLeavesEndsItsCallOnly(t *testing.T) {
	clock := storetest.NewClock(noon)
	r := newRigOver(t, clock, storetest.NewMemory(clock), func(rule *deed.Rule) { rule.Wait = 0 })
	granted := r.claim("agent", "a")
	ctx, leave := context.WithCancel(context.Background())
	req := httptest.NewRequest(http.MethodPost, "/v1/claims", strings.NewReader(claimBody("b"))).WithContext(ctx)
	req.Header.Set("Authorization", "Bearer agent")
	req.Header.Set("Content-Type", "application/json")
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.server.ServeHTTP(httptest.NewRecorder(), req)
	}()
	leave()
	<-done
	var op api.Operation
	r.get("agent", "/v1/operations/"+string(granted.OperationID)).into(200, &op)
	if op.Status != deed.StatusExecuting || op.NoMoreAttempts {
		t.Errorf("%+v", op)
	}
}

// named remembers which tool was called.
type named struct{ tool deed.Tool }

func (n *named) Call(_ context.Context, call deed.Call) (deed.Answer, error) {
	n.tool = call.Tool
	return deed.Answer{Decision: deed.Execute}, nil
}

func TestToolsOfAnyName(t *testing.T) {
	r := newRig(t, nil)
	seen := &named{}
	s, err := server.New(server.Options{Runtime: r.rt, Auth: byToken, Tools: seen})
	if err != nil {
		t.Fatal(err)
	}
	r.server = s
	client, err := api.New(api.Options{BaseURL: "http://" + r.listen(), Token: "agent", HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []deed.Tool{"pay/refund", "files/fs/write", "pay/refund.v2", "a b/c%2Fd?e#f", "pay/zurückzahlen"} {
		if _, err := client.Call(context.Background(), tool, firstKey, api.CallRequest{Arguments: []byte("{}")}); err != nil || seen.tool != tool {
			t.Errorf("%q was called as %q: %v", tool, seen.tool, err)
		}
	}
}

// closing is a gateway that is shutting down.
type closing struct{ server.Tools }

func (closing) Call(context.Context, deed.Call) (deed.Answer, error) {
	return deed.Answer{}, errors.Join(deed.ErrClosed)
}

func TestAGatewayThatClosesAsksToComeBack(t *testing.T) {
	r := newRig(t, nil)
	s, err := server.New(server.Options{Runtime: r.rt, Auth: byToken, Tools: closing{}})
	if err != nil {
		t.Fatal(err)
	}
	r.server = s
	if got := r.call(firstKey, refund12); got.problem(503).Title != "There is no answer" || got.Header().Get("Retry-After") == "" {
		t.Errorf("%s", got.Body)
	}
	if s, err = server.New(server.Options{Runtime: r.rt, Auth: byToken}); err != nil {
		t.Fatal(err)
	}
	r.server = s
	r.call(firstKey, refund12).problem(404)
}

// Whoever asks a gateway that is closing learns that, and not that the ledger is
// away.
func TestAClosingGatewayBeginsNothing(t *testing.T) {
	r := newRig(t, nil)
	if err := r.rt.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/tools/pay/refund/calls", "/v1/claims"} {
		body := refund12
		if path == "/v1/claims" {
			body = `{"tool":"pay/refund","arguments":{"amount":12}}`
		}
		got := r.do(request{method: "POST", path: path, key: firstKey, body: body})
		if p := got.problem(http.StatusServiceUnavailable); !strings.HasSuffix(p.Type, "#"+api.TypeNoAnswer) || p.Reason != "" || !strings.Contains(p.Detail, "is closing") || got.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
}
