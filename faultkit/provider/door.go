// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// door is a listener that can be shut and opened again on the same address, so
// that a connection attempt in between is refused by the operating system.
type door struct {
	handler http.Handler
	address string

	mu     sync.Mutex
	server *http.Server
	done   chan struct{}
	err    error
}

func openDoor(address string, handler http.Handler) (*door, error) {
	d := &door{address: address, handler: handler}
	if err := d.open(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *door) open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server != nil {
		return nil
	}
	listener, err := net.Listen("tcp", d.address)
	if err != nil {
		return fmt.Errorf("fixture cannot listen on %s: %w", d.address, err)
	}
	d.address = listener.Addr().String()
	server := &http.Server{Handler: d.handler, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	d.server, d.done = server, done
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.err = err
		}
	}()
	return nil
}

// shut closes the listener and every connection, and waits until the port is
// free again.
func (d *door) shut() error {
	d.mu.Lock()
	server, done := d.server, d.done
	d.server = nil
	d.mu.Unlock()
	if server == nil {
		return d.err
	}
	err := server.Close()
	<-done
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(err, d.err)
}
