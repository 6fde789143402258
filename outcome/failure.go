// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/deed-run/deed"
)

// What a reader of an answer found wrong with it; the request itself was written.
var (
	// ErrNotJSON: an answer that should be JSON is not, or breaks off.
	ErrNotJSON = errors.New("the answer is not the JSON that it claims to be")
	// ErrTooLarge: the answer is larger than is read.
	ErrTooLarge = errors.New("the answer is larger than is read")
	// ErrAddress: the address may not be connected to.
	ErrAddress = errors.New("the address may not be connected to")
)

// failure is one kind of transport error.
type failure struct {
	name string
	is   func(error) bool
	// refused: the peer itself says that it did not process the request, however much of it was written.
	refused bool
}

// streamError has the shape of the HTTP/2 stream error of net/http, which converts itself to it.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return fmt.Sprintf("stream %d, code %d", e.StreamID, e.Code) }

const codeRefusedStream = 7 // RFC 9113 section 7

// refusedAfterBody is how net/http words a refused stream that it would have repeated if it could. It holds no text of the server.
var refusedAfterBody = regexp.MustCompile(`^http2: Transport: cannot retry err \[stream error: stream ID [0-9]+; REFUSED_STREAM`)

// failures are tried in order; the first that fits names the error. Only the phase decides whether anything left: a certificate is also
// refused by a TLS 1.3 server after the client has sent its request, and a refused connection is also read from one that was open.
var failures = []failure{
	{name: "REFUSED_STREAM", is: isRefusedStream, refused: true},
	{name: "GOAWAY", is: says("GOAWAY")},
	{name: "address not permitted", is: is(ErrAddress)},
	{name: "too late to send", is: is(deed.ErrTooLate)},
	{name: "not written in time", is: is(errWrittenLate)},
	{name: "given up before it was written", is: is(errGivenUp)},
	{name: "proxy", is: operation("proxyconnect")},
	{name: "DNS", is: as[*net.DNSError]},
	{name: "certificate", is: func(err error) bool {
		return as[*tls.CertificateVerificationError](err) || as[x509.UnknownAuthorityError](err) || as[x509.HostnameError](err) || as[x509.CertificateInvalidError](err)
	}},
	{name: "TLS handshake", is: func(err error) bool {
		return as[tls.RecordHeaderError](err) || as[tls.AlertError](err) || says("tls: ", "TLS handshake timeout", "remote error: tls")(err)
	}},
	{name: "connection refused", is: is(syscall.ECONNREFUSED)},
	{name: "unreachable", is: func(err error) bool {
		return errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH)
	}},
	{name: "connection timeout", is: func(err error) bool { return operation("dial")(err) && timeout(err) }},
	{name: "connection", is: operation("dial")},
	{name: "answer too large", is: is(ErrTooLarge)},
	{name: "truncated JSON", is: is(ErrNotJSON)},
	{name: "broken chunk", is: says("invalid byte in chunk length", "malformed chunked encoding", "chunked line ends with bare LF", "http chunk length too large", "chunked encoding contains")},
	{name: "malformed answer", is: says("malformed HTTP", "malformed MIME header", "bad Content-Length", "unsupported transfer encoding", "transport received", "HTTP/1.x transport connection broken: malformed")},
	{name: "connection reset", is: func(err error) bool { return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) }},
	{name: "HTTP/2 stream error", is: func(err error) bool { return as[streamError](err) || says("stream error")(err) }},
	{name: "end of the answer before its length", is: is(io.ErrUnexpectedEOF)},
	{name: "end of the connection", is: func(err error) bool {
		return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || says("server closed idle connection", "connection lost", "client connection force closed")(err)
	}},
	{name: "deadline", is: func(err error) bool { return errors.Is(err, context.DeadlineExceeded) || timeout(err) }},
	{name: "cancelled", is: is(context.Canceled)},
}

// FailureName is a stable word for the kind of a transport error, "transport" for one that is not known.
func FailureName(err error) string {
	for _, f := range failures {
		if f.is(err) {
			return f.name
		}
	}
	return "transport"
}

// Told is what callers may read of a transport error: its FailureName, but for those in deed's own words, which name no address, and for one that needs more words.
func Told(err error) string {
	if late, ok := errors.AsType[*deed.LateError](err); ok {
		return late.Error()
	}
	if as[*net.DNSError](err) {
		return "its name was not found (DNS)"
	}
	return FailureName(err)
}

// Transport classifies the error of a request without a whole answer: unsent where the phase shows that nothing was written or the server
// itself refused the stream before processing it (RFC 9113 section 8.7), unknown in every other case. A stream that a GOAWAY leaves out
// counts as sent: some servers say so of what they have processed. The error is veiled ([deed.Veiled]): callers are told its kind and the phase.
func Transport(err error, phase Phase) deed.Outcome {
	text := (&deed.Veiled{Told: Told(err) + ": " + phase.String(), Err: err}).Error()
	for _, f := range failures {
		if f.is(err) {
			return Lost(phase == NothingWritten || f.refused, text)
		}
	}
	return Lost(phase == NothingWritten, text)
}

func isRefusedStream(err error) bool {
	var stream streamError
	return errors.As(err, &stream) && stream.Code == codeRefusedStream || refusedAfterBody.MatchString(innermost(err).Error())
}

// innermost is the error that net/http itself made, without the prefixes of those who passed it on.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

func operation(name string) func(error) bool {
	return func(err error) bool {
		var op *net.OpError
		return errors.As(err, &op) && op.Op == name
	}
}

func timeout(err error) bool {
	var limited interface{ Timeout() bool }
	return errors.As(err, &limited) && limited.Timeout() || errors.Is(err, os.ErrDeadlineExceeded)
}

func says(texts ...string) func(error) bool {
	return func(err error) bool {
		for _, text := range texts {
			if strings.Contains(err.Error(), text) {
				return true
			}
		}
		return false
	}
}
