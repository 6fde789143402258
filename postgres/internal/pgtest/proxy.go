// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgtest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Cut says when a proxy ends a connection that sends a COMMIT.
type Cut int

const (
	// CutNone lets it pass.
	CutNone Cut = iota
	// CutBefore: the COMMIT never reaches the server.
	CutBefore
	// CutAtOnce: it reaches the server, which may or may not get to it.
	CutAtOnce
	// CutAnswer: the server commits and its answer is lost.
	CutAnswer
)

// Proxy stands between clients and a cluster. Clients have to send the text
// of their statements (default_query_exec_mode=exec).
type Proxy struct {
	// Port is where it listens on 127.0.0.1.
	Port int
	// Cuts counts the connections that were ended.
	Cuts atomic.Int64

	listener net.Listener
	socket   string
	decide   func() Cut
	running  sync.WaitGroup
}

// NewProxy starts a proxy that asks decide about every COMMIT. Stop it.
func (c *Cluster) NewProxy(decide func() Cut) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		Port: listener.Addr().(*net.TCPAddr).Port, listener: listener, decide: decide,
		socket: filepath.Join(c.Folder, fmt.Sprintf(".s.PGSQL.%d", c.Port)),
	}
	p.running.Go(p.accept)
	return p, nil
}

// Stop ends the proxy and waits for its connections, which clients close.
func (p *Proxy) Stop() {
	p.listener.Close()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.socket)
		if err != nil {
			client.Close()
			continue
		}
		p.running.Go(func() { p.serve(client, server) })
	}
}

func (p *Proxy) serve(client, server net.Conn) {
	var mute atomic.Bool
	answered := make(chan struct{})
	var back sync.WaitGroup
	back.Go(func() {
		buffer := make([]byte, 1<<16)
		for {
			n, err := server.Read(buffer)
			if err != nil {
				client.Close()
				return
			}
			if mute.Load() {
				close(answered)
				_, _ = io.Copy(io.Discard, server)
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				server.Close()
				return
			}
		}
	})
	defer back.Wait()
	defer server.Close()
	defer client.Close()
	buffer := make([]byte, 1<<20)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		cut := CutNone
		if bytes.Contains(buffer[:n], []byte("commit\x00")) {
			cut = p.decide()
		}
		if cut != CutNone {
			p.Cuts.Add(1)
		}
		if cut == CutBefore {
			return
		}
		mute.Store(cut == CutAnswer)
		if _, err := server.Write(buffer[:n]); err != nil || cut == CutAtOnce {
			return
		}
		if cut == CutAnswer {
			select {
			case <-answered:
			case <-time.After(time.Second):
			}
			return
		}
	}
}
