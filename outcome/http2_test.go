// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// refuser speaks just enough HTTP/2 to answer every request with one frame of its choice.
type refuser struct {
	listener net.Listener
	requests atomic.Int32
	answer   func(f *http2.Framer, stream uint32) error
	done     chan struct{}
}

func newRefuser(t *testing.T, answer func(*http2.Framer, uint32) error) (*refuser, *http.Transport) {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	r := &refuser{listener: listener, answer: answer, done: make(chan struct{})}
	go r.serve()
	tr := watchedTransport()
	tr.TLSClientConfig = certified.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	tr.ForceAttemptHTTP2 = true
	t.Cleanup(func() { _ = listener.Close(); tr.CloseIdleConnections(); <-r.done })
	return r, tr
}

func (r *refuser) serve() {
	defer close(r.done)
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.talk(conn)
		_ = conn.Close()
	}
}

func (r *refuser) talk(conn net.Conn) {
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(conn, conn)
	if f.WriteSettings() != nil {
		return
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() && f.WriteSettingsAck() != nil {
				return
			}
		case *http2.HeadersFrame:
			r.requests.Add(1)
			if r.answer(f, frame.StreamID) != nil {
				return
			}
		}
	}
}

func TestWhatAnHTTP2ServerSaysOfAStream(t *testing.T) {
	for _, c := range []struct {
		name, word string
		answer     func(*http2.Framer, uint32) error
		want       deed.OutcomeKind
	}{
		{
			"refused before it was processed", "REFUSED_STREAM",
			func(f *http2.Framer, stream uint32) error {
				return f.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
			}, deed.OutcomeUnsent,
		},
		{
			"reset", "HTTP/2 stream error",
			func(f *http2.Framer, stream uint32) error { return f.WriteRSTStream(stream, http2.ErrCodeInternal) }, deed.OutcomeUnknown,
		},
		{
			"left out by a GOAWAY, which some servers say of what they have processed", "GOAWAY",
			func(f *http2.Framer, stream uint32) error {
				if err := f.WriteGoAway(0, http2.ErrCodeNo, nil); err != nil {
					return err
				}
				return io.EOF
			}, deed.OutcomeUnknown,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, tr := newRefuser(t, c.answer)
			var trace outcome.Trace
			req, err := trace.Request(t.Context(), http.MethodPost, "https://"+r.listener.Addr().String()+"/", []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			defer trace.Close()
			req.Header.Set("Idempotency-Key", "k")
			resp, err := tr.RoundTrip(req)
			if err == nil {
				_ = resp.Body.Close()
				t.Fatal("it was answered")
			}
			out := trace.Lost(err)
			if out.Kind != c.want || !strings.HasPrefix(out.Message, c.word+":") {
				t.Errorf("%s: %s; want %s, %s", out.Kind, out.Message, c.want, c.word)
			}
			if n := r.requests.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
