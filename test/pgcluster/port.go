// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgcluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
)

// Ports of servers lie below those that systems hand out for outgoing
// connections (RFC 6335 section 6 and ip_local_port_range of Linux), which would
// take the port of a server that is down for a moment.
const (
	lowestPort = 15000
	portsAbove = 17000
	portTries  = 100
)

// FreePort returns a TCP port of 127.0.0.1 that nobody uses at the moment.
func FreePort() (int, error) {
	for range portTries {
		port := lowestPort + rand.IntN(portsAbove)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		switch {
		case err == nil:
			return port, listener.Close()
		case !errors.Is(err, syscall.EADDRINUSE):
			return 0, fmt.Errorf("looking for a free port: %w", err)
		}
	}
	return 0, fmt.Errorf("of %d ports of 127.0.0.1 none is free", portTries)
}
