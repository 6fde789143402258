// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/deed-run/deed/faultkit/caller"
)

// Door is how a caller reaches the gateway.
type Door string

// The doors: "deed mcp" over its standard streams, "deed serve" over HTTP.
const (
	Stdio Door = "stdio"
	HTTP  Door = "http"
)

// patience is how long a gateway that was asked to stop may take.
const patience = 20 * time.Second

// Gateway says how to start the binary under test.
type Gateway struct {
	// Binary is the path of deed.
	Binary string
	// Wrap is a command put in front of the binary, such as strace.
	Wrap     []string
	Config   string
	Upstream string
	Door     Door
	// Version is caller.Legacy or caller.Modern; empty means Legacy.
	Version string
	// Address is host:port for the HTTP door, as the configuration says it.
	Address string
	Env     []string
	Dir     string
	// Stderr receives the gateway's complaints; nil discards them.
	Stderr io.Writer
}

// Running is a started gateway with one session to it.
type Running struct {
	caller.Session
	kill  func()
	close func() error
	died  <-chan struct{}
	// status is how the process ended, once it has.
	status func() error
}

// Kill ends the gateway at once, as a crash does, and waits until it is gone.
func (r *Running) Kill() { r.kill() }

// Close ends the session, then the gateway, and waits for both.
func (r *Running) Close() error { return r.close() }

// Died is closed when the gateway is gone.
func (r *Running) Died() <-chan struct{} { return r.died }

// Start starts the gateway and opens a session.
func (g Gateway) Start(ctx context.Context) (*Running, error) {
	if g.Door == HTTP {
		return g.serve(ctx)
	}
	command := append(append([]string{}, g.Wrap...), g.Binary, "mcp", "--config", g.Config, "--upstream", g.Upstream)
	s, err := caller.StartStdio(ctx, caller.Command{
		Path: command[0], Args: command[1:], Env: g.Env, Dir: g.Dir, Version: g.Version, Stderr: g.Stderr, Grace: patience,
	})
	if err != nil {
		return nil, fmt.Errorf("start gateway: %w", err)
	}
	return &Running{Session: s, kill: s.Kill, close: s.Close, died: s.Exited(), status: s.ExitStatus}, nil
}

// serve starts "deed serve" and waits until it accepts connections.
func (g Gateway) serve(ctx context.Context) (*Running, error) {
	command := append(append([]string{}, g.Wrap...), g.Binary, "serve", "--config", g.Config)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Dir, cmd.Stderr = append(os.Environ(), g.Env...), g.Dir, g.Stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start gateway: %w", err)
	}
	died := make(chan struct{})
	var ended error
	go func() {
		defer close(died)
		ended = cmd.Wait()
	}()
	var once sync.Once
	end := func(ask bool) error {
		var err error
		once.Do(func() {
			if !ask || cmd.Process.Signal(os.Interrupt) != nil {
				_ = cmd.Process.Kill()
			}
			timer := time.NewTimer(patience)
			defer timer.Stop()
			select {
			case <-died:
			case <-timer.C:
				_ = cmd.Process.Kill()
				<-died
				err = errors.New("stop gateway: it did not stop when asked and was killed")
			}
		})
		return err
	}
	r := &Running{kill: func() { _ = end(false) }, died: died, status: func() error {
		<-died
		return ended
	}}
	if err := awaitPort(ctx, g.Address, died); err != nil {
		r.kill()
		return nil, fmt.Errorf("start gateway: %w", err)
	}
	session, err := caller.DialHTTP(ctx, "http://"+g.Address+"/mcp/"+g.Upstream, g.version(), http.Header{})
	if err != nil {
		r.kill()
		return nil, fmt.Errorf("start gateway: %w", err)
	}
	r.Session = session
	r.close = func() error { return errors.Join(session.Close(), end(true)) }
	return r, nil
}

func (g Gateway) version() string {
	if g.Version == "" {
		return caller.Legacy
	}
	return g.Version
}

// awaitPort tries to connect until something listens or the process is gone.
func awaitPort(ctx context.Context, address string, died <-chan struct{}) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-died:
			return fmt.Errorf("it exited before it listened on %s", address)
		case <-ctx.Done():
			return fmt.Errorf("nothing listens on %s: %w", address, ctx.Err())
		}
	}
}
