// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"reflect"
	"syscall"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// timedOut is a dial or a read that took too long.
type timedOut struct{}

func (timedOut) Error() string { return "i/o timeout" }
func (timedOut) Timeout() bool { return true }

func dial(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }

// http2Error stands for net/http's own stream error, which errors.As converts by its shape.
type http2Error struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e http2Error) Error() string {
	return fmt.Sprintf("stream error: stream ID %d; code %d", e.StreamID, e.Code)
}

// As converts to any struct of this shape, as net/http's does.
func (e http2Error) As(target any) bool {
	to := reflect.ValueOf(target).Elem()
	if !reflect.TypeOf(e).ConvertibleTo(to.Type()) {
		return false
	}
	to.Set(reflect.ValueOf(e).Convert(to.Type()))
	return true
}

func TestTransportErrors(t *testing.T) {
	const (
		nothing = outcome.NothingWritten
		some    = outcome.HeadersWritten
		all     = outcome.BodyWritten
		partly  = outcome.PartialAnswer
	)
	refusedText := errors.New("http2: Transport: cannot retry err [stream error: stream ID 3; REFUSED_STREAM; received from peer] after Request.Body was written; define Request.GetBody to avoid this error")
	for _, c := range []struct {
		name  string
		err   error
		phase outcome.Phase
		word  string
		want  deed.OutcomeKind
	}{
		{"no such host", dial(&net.DNSError{Err: "no such host", Name: "x"}), nothing, "DNS", deed.OutcomeUnsent},
		{"nobody listens", dial(syscall.ECONNREFUSED), nothing, "connection refused", deed.OutcomeUnsent},
		{"no route to the network", dial(syscall.ENETUNREACH), nothing, "unreachable", deed.OutcomeUnsent},
		{"no route to the host", dial(syscall.EHOSTUNREACH), nothing, "unreachable", deed.OutcomeUnsent},
		{"connecting takes too long", dial(timedOut{}), nothing, "connection timeout", deed.OutcomeUnsent},
		{"another failure to connect", dial(syscall.EADDRNOTAVAIL), nothing, "connection", deed.OutcomeUnsent},
		{"an address that is not permitted", dial(fmt.Errorf("10.0.0.1: %w", outcome.ErrAddress)), nothing, "address not permitted", deed.OutcomeUnsent},
		{"the proxy refuses", &net.OpError{Op: "proxyconnect", Err: errors.New("Bad Gateway")}, nothing, "proxy", deed.OutcomeUnsent},
		{"an unknown authority", x509.UnknownAuthorityError{}, nothing, "certificate", deed.OutcomeUnsent},
		{"a certificate for another host", &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}}}, nothing, "certificate", deed.OutcomeUnsent},
		{"no TLS on the other side", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, nothing, "TLS handshake", deed.OutcomeUnsent},
		{"the TLS handshake takes too long", errors.New("net/http: TLS handshake timeout"), nothing, "TLS handshake", deed.OutcomeUnsent},
		{"a TLS alert after the request", tls.AlertError(42), all, "TLS handshake", deed.OutcomeUnknown},
		{"zero bytes written", &net.OpError{Op: "write", Err: syscall.EPIPE}, nothing, "connection reset", deed.OutcomeUnsent},
		{"cancelled before the connection", context.Canceled, nothing, "cancelled", deed.OutcomeUnsent},
		{"deadline before the connection", context.DeadlineExceeded, nothing, "deadline", deed.OutcomeUnsent},
		{"a stream refused before the server acted", http2Error{StreamID: 3, Code: 7}, all, "REFUSED_STREAM", deed.OutcomeUnsent},
		{"the same, worded by net/http", refusedText, all, "REFUSED_STREAM", deed.OutcomeUnsent},
		{"another stream error", http2Error{StreamID: 3, Code: 2}, all, "HTTP/2 stream error", deed.OutcomeUnknown},
		{"a text of a server that mentions a refused stream", errors.New("502: REFUSED_STREAM"), all, "transport", deed.OutcomeUnknown},
		{"GOAWAY", errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR"), some, "GOAWAY", deed.OutcomeUnknown},
		{"reset while writing", &net.OpError{Op: "write", Err: syscall.ECONNRESET}, some, "connection reset", deed.OutcomeUnknown},
		{"reset after the headers", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, partly, "connection reset", deed.OutcomeUnknown},
		{"broken pipe while writing the body", &net.OpError{Op: "write", Err: syscall.EPIPE}, some, "connection reset", deed.OutcomeUnknown},
		{"the connection ends without an answer", &url.Error{Op: "Post", Err: io.EOF}, all, "end of the connection", deed.OutcomeUnknown},
		{"the server closes an idle connection as we write", errors.New("http: server closed idle connection"), some, "end of the connection", deed.OutcomeUnknown},
		{"the answer is shorter than its length", io.ErrUnexpectedEOF, partly, "end of the answer before its length", deed.OutcomeUnknown},
		{"deadline after the request", context.DeadlineExceeded, all, "deadline", deed.OutcomeUnknown},
		{"reading takes too long", &net.OpError{Op: "read", Err: timedOut{}}, all, "deadline", deed.OutcomeUnknown},
		{"cancelled after the request", context.Canceled, all, "cancelled", deed.OutcomeUnknown},
		{"truncated JSON", fmt.Errorf("%w: unexpected end", outcome.ErrNotJSON), partly, "truncated JSON", deed.OutcomeUnknown},
		{"too large", outcome.ErrTooLarge, partly, "answer too large", deed.OutcomeUnknown},
		{"a wrong length", errors.New(`bad Content-Length "x"`), partly, "malformed answer", deed.OutcomeUnknown},
		{"a malformed status line", errors.New(`malformed HTTP response "x"`), partly, "malformed answer", deed.OutcomeUnknown},
		{"a broken chunk", errors.New("invalid byte in chunk length"), partly, "broken chunk", deed.OutcomeUnknown},
		{"an error that nobody knows", errors.New("boom"), some, "transport", deed.OutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			if word := outcome.FailureName(c.err); word != c.word {
				t.Errorf("it is called %q, want %q", word, c.word)
			}
			if out := outcome.Transport(c.err, c.phase); out.Kind != c.want {
				t.Errorf("%s, want %s", out.Kind, c.want)
			}
		})
	}
}
