// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// scripted is a server that reads one whole request and then does what the script says.
func scripted(t *testing.T, script func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, req.Body)
				script(conn)
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	return "http://" + listener.Addr().String()
}

func write(text string) func(net.Conn) {
	return func(c net.Conn) { _, _ = io.WriteString(c, text) }
}

// exchange sends one POST and reads the whole answer.
func exchange(t *testing.T, tr *http.Transport, trace *outcome.Trace, url string) deed.Outcome {
	t.Helper()
	defer tr.CloseIdleConnections()
	req, err := trace.Request(t.Context(), http.MethodPost, url, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return trace.Lost(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.ReadAll(resp.Body); err != nil {
		return trace.Lost(err)
	}
	return outcome.HTTP(resp.StatusCode, resp.Header)
}

func TestPhasesOfRealFailures(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	plain := httptest.NewServer(nil)
	t.Cleanup(plain.Close)
	selfSigned := httptest.NewUnstartedServer(nil)
	selfSigned.Config.ErrorLog = silent
	selfSigned.StartTLS()
	t.Cleanup(selfSigned.Close)
	for _, c := range []struct {
		name, url, word string
		phase           outcome.Phase
		want            deed.OutcomeKind
	}{
		{"nobody listens", closed.URL, "connection refused", outcome.NothingWritten, deed.OutcomeUnsent},
		{"no such host", "http://nowhere.invalid/", "its name was not found (DNS)", outcome.NothingWritten, deed.OutcomeUnsent},
		{"an unknown certificate", selfSigned.URL, "certificate", outcome.NothingWritten, deed.OutcomeUnsent},
		{"no TLS on the other side", strings.Replace(plain.URL, "http:", "https:", 1), "TLS handshake", outcome.NothingWritten, deed.OutcomeUnsent},
		{"closed without an answer", scripted(t, func(net.Conn) {}), "end of the connection", outcome.BodyWritten, deed.OutcomeUnknown},
		{"reset without an answer", scripted(t, func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }), "connection reset", outcome.BodyWritten, deed.OutcomeUnknown},
		{"half a head", scripted(t, write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n")), "end of the answer before its length", outcome.PartialAnswer, deed.OutcomeUnknown},
		{"no HTTP", scripted(t, write("220 smtp\r\n\r\n")), "malformed answer", outcome.PartialAnswer, deed.OutcomeUnknown},
		{"a body that breaks off", scripted(t, write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}")), "end of the answer before its length", outcome.PartialAnswer, deed.OutcomeUnknown},
		{"a length that is no number", scripted(t, write("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}")), "malformed answer", outcome.PartialAnswer, deed.OutcomeUnknown},
		{"a broken chunk", scripted(t, write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")), "broken chunk", outcome.PartialAnswer, deed.OutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			var trace outcome.Trace
			out := exchange(t, watchedTransport(), &trace, c.url)
			if out.Kind != c.want || !strings.HasPrefix(out.Message, c.word+":") || trace.Phase() != c.phase {
				t.Errorf("%s (%s) at phase %q, want %s, %s, %q", out.Kind, out.Message, trace.Phase(), c.want, c.word, c.phase)
			}
		})
	}
}

func TestARequestThatMayNotLeaveIsUnsent(t *testing.T) {
	reached := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	t.Cleanup(server.Close)
	late := errors.New("send_by has passed")
	trace := outcome.Trace{May: func() error { return late }}
	out := exchange(t, watchedTransport(), &trace, server.URL)
	if out.Kind != deed.OutcomeUnsent || !strings.Contains(out.Message, late.Error()) {
		t.Errorf("%s: %s", out.Kind, out.Message)
	}
	server.Close()
	select {
	case <-reached:
		t.Error("the request reached the server")
	default:
	}
}

func TestARequestThatCannotBeWrittenInTimeIsGivenUp(t *testing.T) {
	// A server that never reads: the body does not fit the buffers of the connection.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	// Long enough for the headers on a busy machine.
	trace := outcome.Trace{Left: func() time.Duration { return 2 * time.Second }}
	req, err := trace.Request(t.Context(), http.MethodPost, "http://"+listener.Addr().String(), make([]byte, 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	tr := watchedTransport()
	defer tr.CloseIdleConnections()
	_, err = tr.RoundTrip(req)
	if err == nil {
		t.Fatal("it was answered")
	}
	if out := trace.Lost(err); out.Kind != deed.OutcomeUnknown || trace.Phase() != outcome.HeadersWritten {
		t.Errorf("%s at phase %q: %s", out.Kind, trace.Phase(), out.Message)
	}
}

func TestAnUnwatchedConnectionCountsAsWritten(t *testing.T) {
	var trace outcome.Trace
	out := exchange(t, &http.Transport{}, &trace, scripted(t, func(net.Conn) {}))
	if out.Kind != deed.OutcomeUnknown {
		t.Errorf("%s: %s", out.Kind, out.Message)
	}
}
