// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// lowest and highest bound the ports. Systems give connections, and those who
// listen on port 0, higher ones: Linux from 32768, gVisor from 16000, others
// from 49152. So a reserved port stays free while its server is down.
const (
	lowest  = 10000
	highest = 15000
)

const tries = 1000

// Port is a port that was free and that no other holder of a Port has, in this
// process or another, until it is closed.
type Port struct {
	// Number is even; the odd port after it is the claim on it.
	Number int
	claim  net.Listener
}

// Reserve finds a free port. Close it when its server is gone for good. The end
// of the process closes it too.
func Reserve() (*Port, error) {
	var last error
	for range tries {
		port := &Port{Number: lowest + 2*rand.IntN((highest-lowest)/2)}
		var trial net.Listener
		if port.claim, last = listen(port.Number + 1); last != nil {
			continue
		}
		if trial, last = listen(port.Number); last == nil {
			last = trial.Close()
		}
		if last == nil {
			return port, nil
		}
		_ = port.claim.Close()
	}
	return nil, fmt.Errorf("no free port on the loopback interface after %d tries between %d and %d: %w", tries, lowest, highest, last)
}

// Address is host:port.
func (p *Port) Address() string { return address(p.Number) }

// Close gives the port back.
func (p *Port) Close() error { return p.claim.Close() }

func listen(number int) (net.Listener, error) { return net.Listen("tcp", address(number)) }

func address(number int) string { return fmt.Sprintf("127.0.0.1:%d", number) }
