// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
	"github.com/deed-run/deed/storetest"
)

// anyRoute guards every path of one segment below /do, with or without a body.
func anyRoute() []httpgate.Route {
	return []httpgate.Route{{Method: "POST", Pattern: "/do/*", Key: deed.KeyRule{Need: deed.NeedOptional}}}
}

// cases are what tempts net/http to send again: a key, no body, both.
var cases = map[string]struct{ body, key string }{
	"with a body and a key":       {order1, key},
	"with a body and no key":      {order1, ""},
	"without a body and a key":    {"", key},
	"without a body, without key": {"", ""},
}

// breaker is a server of HTTP/1.1 that answers the first request of a connection,
// commits the second, and breaks the connection without an answer.
type breaker struct {
	net.Listener
	effects atomic.Int64
	all     sync.WaitGroup
}

func newBreaker(t *testing.T) *breaker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	b := &breaker{Listener: l}
	b.all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.all.Go(func() { b.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); b.all.Wait() })
	return b
}

func (b *breaker) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for n := 0; ; n++ {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		b.effects.Add(1)
		if n == 1 {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	}
}

func TestAReusedConnectionThatBreaksAfterTheEffectIsNotSentAgainHTTP1(t *testing.T) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBreaker(t)
			r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{
				URL: "http://" + b.Addr().String(),
				// The key of another provider, on every request: what tempts net/http most.
				Header: http.Header{"Idempotency-Key": {"static"}},
			}})
			r.send("POST", "/do/first", c.body, keyed(c.key, "-a")...).wants(t, 200, "Deed-Status", "committed")
			r.send("POST", "/do/second", c.body, keyed(c.key, "-b")...).wants(t, 409, "Deed-Status", "uncertain")
			if n := b.effects.Load(); n != 2 {
				t.Errorf("%d requests arrived for 2 operations", n)
			}
		})
	}
}

func keyed(key, more string) []string {
	if key == "" {
		return nil
	}
	return []string{"Idempotency-Key", key + more}
}

// framer is a server of HTTP/2 that answers the first stream of a connection and
// does something else with the next.
type framer struct {
	server  *httptest.Server
	effects atomic.Int64
	all     sync.WaitGroup
}

func newFramer(t *testing.T, next func(f *http2.Framer, stream uint32)) *framer {
	t.Helper()
	s := &framer{server: httptest.NewUnstartedServer(http.NotFoundHandler())}
	s.server.TLS = &tls.Config{NextProtos: []string{"h2"}}
	s.server.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
		"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) {
			s.all.Add(1)
			defer s.all.Done()
			s.serve(conn, next)
		},
	}
	s.server.StartTLS()
	t.Cleanup(func() { s.server.CloseClientConnections(); s.server.Close(); s.all.Wait() })
	return s
}

func (s *framer) serve(conn *tls.Conn, next func(*http2.Framer, uint32)) {
	defer func() { _ = conn.Close() }()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return
	}
	f := http2.NewFramer(conn, conn)
	_ = f.WriteSettings()
	answered := 0
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = f.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			if frame.StreamEnded() {
				s.request(f, frame.StreamID, &answered, next)
			}
		case *http2.DataFrame:
			if frame.StreamEnded() {
				s.request(f, frame.StreamID, &answered, next)
			}
		}
	}
}

func (s *framer) request(f *http2.Framer, stream uint32, answered *int, next func(*http2.Framer, uint32)) {
	s.effects.Add(1)
	if *answered++; *answered > 1 {
		next(f, stream)
		return
	}
	var block strings.Builder
	_ = hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: ":status", Value: "204"})
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte(block.String()), EndHeaders: true, EndStream: true})
}

func TestAStreamThatBreaksAfterTheEffectIsNotSentAgainHTTP2(t *testing.T) {
	breaks := map[string]struct {
		next   func(*http2.Framer, uint32)
		status int
	}{
		"RST_STREAM INTERNAL_ERROR": {func(f *http2.Framer, id uint32) { _ = f.WriteRSTStream(id, http2.ErrCodeInternal) }, 409},
		"RST_STREAM PROTOCOL_ERROR": {func(f *http2.Framer, id uint32) { _ = f.WriteRSTStream(id, http2.ErrCodeProtocol) }, 409},
		// The server vouches that it processed nothing; this one lies.
		"RST_STREAM REFUSED_STREAM": {func(f *http2.Framer, id uint32) { _ = f.WriteRSTStream(id, http2.ErrCodeRefusedStream) }, 502},
		"GOAWAY that leaves the stream out": {func(f *http2.Framer, id uint32) {
			_ = f.WriteGoAway(id-2, http2.ErrCodeNo, nil)
		}, 409},
		"GOAWAY with an error": {func(f *http2.Framer, id uint32) { _ = f.WriteGoAway(id-2, http2.ErrCodeEnhanceYourCalm, nil) }, 409},
	}
	for how, b := range breaks {
		for name, c := range cases {
			t.Run(how+" "+name, func(t *testing.T) {
				s := newFramer(t, b.next)
				r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{
					URL: s.server.URL, TLS: s.server.Client().Transport.(*http.Transport).TLSClientConfig,
					Header: http.Header{"Idempotency-Key": {"static"}},
				}})
				r.send("POST", "/do/first", c.body, keyed(c.key, "-a")...).wants(t, 204, "Deed-Status", "committed")
				r.send("POST", "/do/second", c.body, keyed(c.key, "-b")...).wants(t, b.status)
				if n := s.effects.Load(); n != 2 {
					t.Errorf("%d requests arrived for 2 operations", n)
				}
			})
		}
	}
}

func TestUnguardedRequestsThatChangeThingsAreNotSentAgainEither(t *testing.T) {
	b := newBreaker(t)
	r := build(t, setup{
		upstream: httpgate.Upstream{URL: "http://" + b.Addr().String(), Header: http.Header{"Idempotency-Key": {"static"}}},
		edit:     func(o *httpgate.Options) { o.Unnamed = httpgate.UnnamedPass },
	})
	r.send("POST", "/do/first", "").wants(t, 200)
	r.send("POST", "/do/second", "").wants(t, 409)
	if n := b.effects.Load(); n != 2 {
		t.Errorf("%d requests arrived for 2", n)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: s.URL}})
	r.send("POST", "/do/it", order1, "Idempotency-Key", key).wants(t, 409, "Deed-Status", "uncertain")
	if asked.Load() != 1 {
		t.Errorf("%d requests", asked.Load())
	}
}

func TestAHandshakeThatFailsIsUnsent(t *testing.T) {
	b := newBreaker(t) // speaks no TLS
	r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: "https://" + b.Addr().String()}})
	r.send("POST", "/do/it", order1, "Idempotency-Key", key).wants(t, 502, "Deed-Reason", "not_sent")
	if n := b.effects.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestNothingLeavesAfterSendBy(t *testing.T) {
	for _, protocol := range []string{"h1", "h2"} {
		t.Run(protocol, func(t *testing.T) {
			var asked atomic.Int64
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); w.WriteHeader(http.StatusNoContent) }))
			s.EnableHTTP2 = protocol == "h2"
			s.StartTLS()
			defer s.Close()
			clock := storetest.NewClock(time.Now())
			config := s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
			if protocol == "h1" {
				config.NextProtos = []string{"http/1.1"}
			}
			late := &sleepy{clock: clock}
			r := build(t, setup{
				clock: clock, routes: anyRoute(), upstream: httpgate.Upstream{URL: s.URL, TLS: config},
				edit: func(o *httpgate.Options) { late.Runtime, o.Runtime = o.Runtime, late },
			})
			r.send("POST", "/do/warm", order1, "Idempotency-Key", key+"-a").wants(t, 204)
			late.sleep.Store(true)
			r.send("POST", "/do/it", order1, "Idempotency-Key", key+"-b").wants(t, 502, "Deed-Reason", "not_sent")
			r.send("POST", "/do/it", "", "Idempotency-Key", key+"-c").wants(t, 502, "Deed-Reason", "not_sent")
			if asked.Load() != 1 {
				t.Errorf("%d requests arrived", asked.Load())
			}
		})
	}
}

// sleepy is a Runtime on a machine that sleeps past its lease after a begin, before
// anything is sent.
type sleepy struct {
	httpgate.Runtime
	clock *storetest.Clock
	sleep atomic.Bool
}

func (s *sleepy) Claim(ctx context.Context, call deed.Call) (deed.Answer, *deed.Grant, error) {
	answer, grant, err := s.Runtime.Claim(ctx, call)
	if grant != nil && s.sleep.Load() {
		s.clock.Advance(40 * time.Second)
	}
	return answer, grant, err
}
