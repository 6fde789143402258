// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package process starts outside programs for tests, keeps what they print, and
// ends them when the test ends. It is not a supervisor: a program that dies
// early stays dead, and its output is in the failure. Start with [Start].
package process

import (
	"bytes"
	"net"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed/internal/loopback"
)

// startLimit is how long a program may take until it listens. Node.js needs
// seconds on a busy machine.
const startLimit = time.Minute

// Process is a running program.
type Process struct {
	command *exec.Cmd
	output  *output
	exited  chan struct{}
	err     error
}

// Start starts command and arranges that it is killed, and waited for, when tb
// ends. The output goes into tb's log if tb fails.
func Start(tb testing.TB, command *exec.Cmd) *Process {
	tb.Helper()
	p := &Process{command: command, output: &output{}, exited: make(chan struct{})}
	if command.Stdout == nil {
		command.Stdout = p.output
	}
	if command.Stderr == nil {
		command.Stderr = p.output
	}
	if err := command.Start(); err != nil {
		tb.Fatalf("start %s: %v", command, err)
	}
	go func() {
		p.err = command.Wait()
		close(p.exited)
	}()
	tb.Cleanup(func() {
		p.Kill()
		if tb.Failed() {
			tb.Logf("%s printed:\n%s", command, p.Output())
		}
	})
	return p
}

// Kill ends the program with SIGKILL and waits for it. Killing a program that
// has ended does nothing.
func (p *Process) Kill() {
	// An error means that the program has ended already, which is what is wanted.
	_ = p.command.Process.Kill()
	<-p.exited
}

// Output returns what the program has printed so far to the streams that the
// command had not set itself.
func (p *Process) Output() string { return p.output.String() }

// Exited is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// WaitListening returns when the program accepts connections at address, and
// fails tb when the program ends first or takes longer than a minute.
func (p *Process) WaitListening(tb testing.TB, address string) {
	tb.Helper()
	limit := time.After(startLimit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			if err := connection.Close(); err != nil {
				tb.Logf("close the trial connection to %s: %v", address, err)
			}
			return
		}
		select {
		case <-p.exited:
			tb.Fatalf("%s ended before it listened on %s: %v\n%s", p.command, address, p.err, p.Output())
		case <-limit:
			tb.Fatalf("%s does not listen on %s after %s: %v\n%s", p.command, address, startLimit, err, p.Output())
		case <-tick.C:
		}
	}
}

// FreeAddress returns a loopback address on which nothing listens, for programs
// that cannot report a port they chose themselves. Nobody else gets it before tb
// ends, also while the program is down.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	port, err := loopback.Reserve()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := port.Close(); err != nil {
			tb.Errorf("give the port of %s back: %v", port.Address(), err)
		}
	})
	return port.Address()
}

// output is a buffer that a program's streams and the test share.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}
