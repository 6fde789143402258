// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// api is an HTTP API that makes something of every POST, and may break the
// connection instead of answering.
type api struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	loses  bool
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /made", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.mu.Lock()
		a.bodies = append(a.bodies, string(body))
		n, loses := len(a.bodies), a.loses
		a.mu.Unlock()
		if loses {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":"thing_%d"}`, n)
	})
	mux.HandleFunc("POST /moved/{status}", func(w http.ResponseWriter, r *http.Request) {
		status := map[string]int{"301": 301, "302": 302, "303": 303, "307": 307, "308": 308}[r.PathValue("status")]
		http.Redirect(w, r, "/made", status)
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func (a *api) lose(loses bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.loses = loses
}

func (a *api) made() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.bodies)
}

// hop passes requests on and breaks the connection in the place of the answers
// that loses picks.
type hop struct {
	*httptest.Server
	mu       sync.Mutex
	loses    func(*http.Request) bool
	replayed int
}

func newHop(t *testing.T, to string) *hop {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	h := &hop{loses: func(*http.Request) bool { return false }}
	transport := &http.Transport{}
	h.Server = httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			if r.Header.Get("Idempotent-Replayed") == "true" {
				h.replayed++
			}
			if h.loses(r.Request) {
				panic(http.ErrAbortHandler)
			}
			return nil
		},
	})
	t.Cleanup(func() {
		h.Close()
		transport.CloseIdleConnections()
	})
	return h
}

func (h *hop) lose(loses func(*http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loses = loses
}

func (h *hop) replays() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.replayed
}
