// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package loopback_test

import (
	"net"
	"sync"
	"testing"

	"github.com/deed-run/deed/internal/loopback"
)

func reserve(t *testing.T) *loopback.Port {
	t.Helper()
	port, err := loopback.Reserve()
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() {
		if err := port.Close(); err != nil {
			t.Error(err)
		}
	})
	return port
}

func TestAServerCanListenAgainAndAgain(t *testing.T) {
	port := reserve(t)
	for range 3 {
		server, err := net.Listen("tcp", port.Address())
		if err != nil {
			t.Fatal(err)
		}
		client, err := net.Dial("tcp", port.Address())
		if err != nil {
			t.Fatal(err)
		}
		served, err := server.Accept()
		if err != nil {
			t.Fatal(err)
		}
		// The server leaves first, so that the connection lingers at its port.
		for _, end := range []interface{ Close() error }{served, server, client} {
			if err := end.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestNoPortIsGivenToTwo(t *testing.T) {
	var held sync.Map
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 10 {
				port := reserve(t)
				if port == nil {
					return
				}
				if _, twice := held.LoadOrStore(port.Number, true); twice {
					t.Errorf("port %d was given to two", port.Number)
				}
			}
		})
	}
	all.Wait()
}
