// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"net/http/httptest"
	"net/url"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/inject"
)

// hop opens a session through something between client and gateway that follows
// the plans and counts the calls: a proxy over HTTP, a pipe over stdio, for which
// the gateway is started anew.
func (w *world) hop(plans ...inject.Plan) (caller.Session, *inject.Controller) {
	w.Helper()
	control := inject.NewController(plans...)
	if w.door.stdio() {
		server := httptest.NewServer(control.Handler())
		w.Cleanup(server.Close)
		w.gateway.Wrap = []string{built.fixture, "pipe", "--control", server.URL, "--"}
		w.restart()
		// The pipe ends with its input, before the server that it asks.
		w.Cleanup(func() { _ = w.running.Close() })
		return w.running, control
	}
	target, err := url.Parse("http://" + w.gateway.Address + "/mcp/shop")
	w.must(err)
	server := httptest.NewServer(&inject.Proxy{Target: target, Judge: control})
	w.Cleanup(server.Close)
	session, err := caller.DialHTTP(w.Context(), server.URL, w.door.version, nil)
	w.must(err)
	return session, control
}

// passed waits until n calls have gone through the hop and the gateway has had
// the time to read them: reads that were sent later have been answered.
func (w *world) passed(s caller.Session, control *inject.Controller, n int) error {
	if err := control.AwaitCalls(w.Context(), n); err != nil {
		return err
	}
	for range 3 {
		if step := w.send(s, caller.Call{Tool: "ticket.search", Arguments: raw(object{"q": "anything"})}); step.Err != nil {
			return step.Err
		}
	}
	return nil
}
