// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// breaker commits every request and breaks the connection instead of answering once it is armed.
type breaker struct {
	*httptest.Server
	effects atomic.Int32
	armed   atomic.Bool
}

type connKey struct{}

func newBreaker(t *testing.T, http2 bool) *breaker {
	t.Helper()
	b := &breaker{}
	b.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/warm" {
			return
		}
		b.effects.Add(1)
		if b.armed.Swap(false) {
			_ = r.Context().Value(connKey{}).(net.Conn).Close()
			panic(http.ErrAbortHandler)
		}
	}))
	b.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if secure, ok := c.(*tls.Conn); ok {
			c = secure.NetConn()
		}
		return context.WithValue(ctx, connKey{}, c)
	}
	b.EnableHTTP2 = http2
	if http2 {
		b.StartTLS()
	} else {
		b.Start()
	}
	t.Cleanup(b.Close)
	return b
}

func (b *breaker) transport(t *testing.T) *http.Transport {
	t.Helper()
	tr := watchedTransport()
	if b.TLS != nil {
		tr.TLSClientConfig = b.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		tr.ForceAttemptHTTP2 = true
	}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func watchedTransport() *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return outcome.Watched(conn), nil
	}}
}

// warm leaves one connection in the pool and arms the next request.
func (b *breaker) warm(t *testing.T, tr *http.Transport, major int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL+"/warm", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.ProtoMajor != major {
		t.Fatalf("HTTP/%d, want %d", resp.ProtoMajor, major)
	}
	b.armed.Store(true)
}

func TestNothingIsSentTwiceWhenAReusedConnectionBreaks(t *testing.T) {
	for _, c := range []struct {
		name, method, key string
		http2             bool
		body              []byte
	}{
		{name: "HTTP/1.1 POST", method: "POST", body: []byte("{}")},
		{name: "HTTP/1.1 POST with a key", method: "POST", key: "k", body: []byte("{}")},
		{name: "HTTP/1.1 POST without a body, with a key", method: "POST", key: "k"},
		{name: "HTTP/1.1 DELETE with a key", method: "DELETE", key: "k"},
		{name: "HTTP/1.1 GET that changes something", method: "GET"},
		{name: "HTTP/2 POST", method: "POST", http2: true, body: []byte("{}")},
		{name: "HTTP/2 POST with a key", method: "POST", key: "k", http2: true, body: []byte("{}")},
		{name: "HTTP/2 POST without a body, with a key", method: "POST", key: "k", http2: true},
		{name: "HTTP/2 DELETE with a key", method: "DELETE", key: "k", http2: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBreaker(t, c.http2)
			tr := b.transport(t)
			major := 1
			if c.http2 {
				major = 2
			}
			b.warm(t, tr, major)
			var trace outcome.Trace
			req, err := trace.Request(t.Context(), c.method, b.URL+"/effect", c.body)
			if err != nil {
				t.Fatal(err)
			}
			defer trace.Close()
			if c.key != "" {
				req.Header.Set("Idempotency-Key", c.key)
				req.Header.Set("X-Idempotency-Key", c.key)
			}
			resp, err := tr.RoundTrip(req)
			if err == nil {
				_ = resp.Body.Close()
				t.Fatalf("answered with %s although the connection broke: the request was sent again", resp.Status)
			}
			if out := trace.Lost(err); out.Kind != deed.OutcomeUnknown {
				t.Errorf("%s (%s), want unknown", out.Kind, out.Message)
			}
			if n := b.effects.Load(); n != 1 {
				t.Errorf("%d effects, want 1", n)
			}
		})
	}
}

// The control: net/http itself sends such a request twice, and answers with the second result as if nothing had been.
func TestNetHTTPRepeatsAPostWithAKey(t *testing.T) {
	b := newBreaker(t, false)
	tr := b.transport(t)
	b.warm(t, tr, 1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+"/effect", bytes.NewReader([]byte("{}")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", "k")
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if n := b.effects.Load(); n != 2 {
		t.Errorf("%d effects; where net/http has stopped repeating, this package may say so", n)
	}
}
