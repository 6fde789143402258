// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"net"
	"sync/atomic"
)

// Watched returns the connection with an eye on what is written on it, for the transports of requests with a [Trace]: return it from
// DialContext.
func Watched(conn net.Conn) net.Conn { return &watched{Conn: conn} }

// watched is a connection that asks before the first byte of a request of HTTP/1.1.
type watched struct {
	net.Conn
	trace atomic.Pointer[Trace]
}

// Write writes the bytes of the request that holds the connection.
func (w *watched) Write(p []byte) (int, error) {
	t := w.trace.Load()
	if t == nil {
		return w.Conn.Write(p)
	}
	first, err := t.begin()
	if err != nil {
		return 0, err
	}
	n, err := w.Conn.Write(p)
	if first && n == 0 && err != nil {
		t.nothing()
	}
	return n, err
}

// begin is asked before every write; first is true for the first byte.
func (t *Trace) begin() (first bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.started:
		return false, nil
	case t.sealed, t.held:
		return false, errGivenUp
	}
	if err := t.may(); err != nil {
		t.held = true
		return false, err
	}
	t.started = true
	return true, nil
}

// nothing takes back a beginning of which no byte was written: the connection is broken and nothing follows on it.
func (t *Trace) nothing() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started, t.sealed = false, true
}
