// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package smtp

import (
	"crypto/tls"
	"time"
)

// Security is how the connection is protected.
type Security string

const (
	// STARTTLS goes over to TLS before anything is said; a server that does not offer it is told nothing.
	STARTTLS Security = "starttls"
	// TLS begins with the handshake (RFC 8314).
	TLS Security = "tls"
	// Plain protects nothing.
	Plain Security = "none"
)

// Server is a submission server and how to sign in to it.
type Server struct {
	// Address is host:port.
	Address  string
	Security Security
	// TLS holds the server's name and the authorities to trust.
	TLS *tls.Config
	// Hello is the name that the client gives itself.
	Hello string
	// Username and Password sign in; empty: nobody signs in.
	Username, Password string
	// Mechanism is "PLAIN" or "LOGIN".
	Mechanism string
	// StepTimeout bounds the wait for every reply but the last, 5 minutes if 0 (RFC 5321 section 4.5.3.2).
	StepTimeout time.Duration
	// DotTimeout bounds the wait for the reply to the end of the text, 10 minutes if 0 (RFC 5321 section 4.5.3.2.6): giving up earlier is how
	// mails are sent twice (RFC 1047).
	DotTimeout time.Duration
}

// Envelope is what a transaction carries.
type Envelope struct {
	From string
	To   []string
	// Text is the mail with its header.
	Text []byte
	// UTF8 says that an address or the header needs SMTPUTF8 (RFC 6531).
	UTF8 bool
}

// Gate says whether and for how long bytes of an attempt may leave.
type Gate interface {
	// MaySend is asked before MAIL and before the final dot.
	MaySend() error
	// TimeToSend bounds the writing.
	TimeToSend() time.Duration
}

func (s Server) stepTimeout() time.Duration {
	if s.StepTimeout > 0 {
		return s.StepTimeout
	}
	return 5 * time.Minute
}

func (s Server) dotTimeout() time.Duration {
	if s.DotTimeout > 0 {
		return s.DotTimeout
	}
	return 10 * time.Minute
}
