// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"io"
	"net/http"
	"strings"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// rawSession is a session of 2025-11-25 over HTTP whose messages are written by
// the test itself.
type rawSession struct {
	w      *world
	id     string
	client *http.Client
}

func (w *world) rawSession() *rawSession {
	w.Helper()
	s := &rawSession{w: w, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	hello, err := s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	w.must(err)
	s.id = hello.Header.Get("Mcp-Session-Id")
	w.must(hello.Body.Close())
	s.notify(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

func (s *rawSession) notify(body string) {
	s.w.Helper()
	res, err := s.post(body)
	s.w.must(err)
	s.w.must(res.Body.Close())
}

func (s *rawSession) post(body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(s.w.Context(), http.MethodPost, "http://"+s.w.gateway.Address+"/mcp/shop", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", caller.Legacy)
	if s.id != "" {
		req.Header.Set("Mcp-Session-Id", s.id)
	}
	return s.client.Do(req)
}

// b07Notified cancels as 2025-11-25 wants it: with a notification on a request of
// its own, while the response stream of the call stays open.
func b07Notified(w *world) {
	session := w.rawSession()
	w.misbehave(provider.Hang)
	answered := make(chan string, 1)
	go func() {
		res, err := session.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"pay.charge","arguments":{"order_id":"order-1","amount":100},` +
			`"_meta":{"deed/idempotency-key":"charge:order-1:first"}}}`)
		if err != nil {
			answered <- err.Error()
			return
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		answered <- string(body)
	}()
	w.must(w.fixture.AwaitHeld(w.Context(), "pay.charge", 1))
	session.notify(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"stop"}}`)
	w.call(charge("charge:order-1:first", "order-1", 100), "in_progress:lease_live")
	w.must(w.fixture.Release(w.Context(), ""))
	w.again(charge("charge:order-1:first", "order-1", 100), replay)
	w.counted("order-1", 1, 1)
	if body := <-answered; strings.Contains(body, "pay_000001") {
		w.Errorf("the cancelled request was answered with the result: %s", body)
	}
}
