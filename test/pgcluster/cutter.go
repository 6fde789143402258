// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgcluster

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Cut says when a connection that sends a COMMIT is ended.
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

// Cutter is a proxy in front of a cluster that ends connections in the middle
// of a COMMIT.
type Cutter struct {
	// Port is where it listens on 127.0.0.1.
	Port int
	// Cuts counts the connections that were ended.
	Cuts atomic.Int64

	listener net.Listener
	socket   string
	decide   func() Cut
	running  sync.WaitGroup
}

// answerLimit is how long a server may take to answer a COMMIT whose answer
// is going to be lost.
const answerLimit = time.Second

// NewCutter starts a proxy that asks decide about every COMMIT; decide is
// called by many goroutines. Stop it.
func (c *Cluster) NewCutter(decide func() Cut) (*Cutter, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Cutter{
		Port: listener.Addr().(*net.TCPAddr).Port, listener: listener, decide: decide,
		socket: filepath.Join(c.Folder, fmt.Sprintf(".s.PGSQL.%d", c.Port)),
	}
	p.running.Go(p.accept)
	return p, nil
}

// Parameters are those of a connection string that leads through the proxy,
// and makes clients send the text of their statements, by which a COMMIT is
// recognised.
func (p *Cutter) Parameters() []string {
	return []string{"host", "127.0.0.1", "port", strconv.Itoa(p.Port), "sslmode", "disable", "default_query_exec_mode", "exec"}
}

// Stop ends the proxy and waits for its connections, which clients close.
func (p *Cutter) Stop() error {
	err := p.listener.Close()
	p.running.Wait()
	return err
}

func (p *Cutter) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.socket)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.running.Go(func() { p.serve(client, server) })
	}
}

// serve copies both ways until an end closes or a COMMIT is cut.
func (p *Cutter) serve(client, server net.Conn) {
	var lost atomic.Bool
	answered := make(chan struct{}, 1)
	var back sync.WaitGroup
	back.Go(func() {
		defer func() { _ = client.Close() }()
		buffer := make([]byte, 1<<16)
		for {
			n, err := server.Read(buffer)
			if err != nil {
				return
			}
			if lost.Load() {
				answered <- struct{}{}
				_, _ = io.Copy(io.Discard, server)
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	defer back.Wait()
	defer func() { _, _ = client.Close(), server.Close() }()
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
		lost.Store(cut == CutAnswer)
		if _, err := server.Write(buffer[:n]); err != nil || cut == CutAtOnce {
			return
		}
		if cut == CutAnswer {
			select {
			case <-answered:
			case <-time.After(answerLimit):
			}
			return
		}
	}
}
