// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package caller

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Command is a process that speaks MCP over its standard streams.
type Command struct {
	Path string
	Args []string
	// Env is added to this process's environment.
	Env []string
	Dir string
	// Version is Modern or Legacy; empty means Legacy, with its handshake.
	Version string
	// Stderr receives what the process complains about; nil discards it.
	Stderr io.Writer
	// Grace is how long Close waits after closing the input; 0 means 5 s. After
	// it the process is killed.
	Grace time.Duration
}

// Stdio is a session with a process.
type Stdio struct {
	version string
	grace   time.Duration
	process *exec.Cmd
	input   io.WriteCloser
	exited  chan struct{} // closed once the output ended and the process was reaped
	status  error         // how it ended; read after exited

	writing sync.Mutex
	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	ended   bool
}

// StartStdio starts the process and, in the older era, shakes hands.
func StartStdio(ctx context.Context, c Command) (*Stdio, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Dir = c.Dir
	cmd.Stderr = c.Stderr
	// A grandchild that keeps the error stream open must not keep Close waiting.
	cmd.WaitDelay = time.Second
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	s := &Stdio{
		version: c.Version, grace: c.Grace, process: cmd, input: input, exited: make(chan struct{}), waiting: map[int]chan answer{},
	}
	if s.version == "" {
		s.version = Legacy
	}
	if s.grace == 0 {
		s.grace = 5 * time.Second
	}
	go s.read(output)
	if s.version == Legacy {
		if err := s.handshake(ctx); err != nil {
			s.Kill()
			return nil, err
		}
	}
	return s, nil
}

func (s *Stdio) handshake(ctx context.Context) error {
	if _, err := s.Request(ctx, "initialize", initializeParams()); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	return s.write([]byte(initialized))
}

// read hands answers to whoever waits, until the output ends.
func (s *Stdio) read(output io.Reader) {
	scanner := bufio.NewScanner(output)
	scanner.Buffer(make([]byte, 64<<10), 64<<20)
	for scanner.Scan() {
		var a answer
		if json.Unmarshal(scanner.Bytes(), &a) != nil || a.ID == nil || a.Method != "" {
			continue
		}
		s.mu.Lock()
		if wait, ok := s.waiting[*a.ID]; ok {
			delete(s.waiting, *a.ID)
			wait <- a
		}
		s.mu.Unlock()
	}
	// Draining lets the process exit when a line was too long to scan.
	_, _ = io.Copy(io.Discard, output)
	s.status = s.process.Wait()
	s.mu.Lock()
	s.ended = true
	for id, wait := range s.waiting {
		delete(s.waiting, id)
		close(wait)
	}
	s.mu.Unlock()
	close(s.exited)
}

// Request implements Session.
func (s *Stdio) Request(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	wait := make(chan answer, 1)
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil, fmt.Errorf("%s was not sent: the server has exited", method)
	}
	s.next++
	id := s.next
	s.waiting[id] = wait
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, id)
	}()
	line, err := encode(s.version, id, method, params)
	if err != nil {
		return nil, err
	}
	if err := s.write(line); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", method, ErrNoAnswer, err)
	}
	select {
	case a, ok := <-wait:
		if !ok {
			return nil, fmt.Errorf("%s: %w: the server exited", method, ErrNoAnswer)
		}
		return a.outcome()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w: %w", method, ErrNoAnswer, ctx.Err())
	}
}

// Notify sends a notification.
func (s *Stdio) Notify(method string, params map[string]any) error {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		return fmt.Errorf("encode %s: %w: nothing was sent", method, err)
	}
	return s.write(line)
}

func (s *Stdio) write(line []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err := s.input.Write(append(line, '\n'))
	return err
}

// Exited is closed once the process is gone and its output was read.
func (s *Stdio) Exited() <-chan struct{} { return s.exited }

// ExitStatus waits for the end of the process and returns nil when it ended by
// itself with code 0, else what os/exec says about it.
func (s *Stdio) ExitStatus() error {
	<-s.exited
	return s.status
}

// PID is the process id.
func (s *Stdio) PID() int { return s.process.Process.Pid }

// Kill ends the process at once, with SIGKILL where there are signals, and waits
// until it is gone. Its children are left alone, as in a real crash.
func (s *Stdio) Kill() {
	_ = s.process.Process.Kill()
	<-s.exited
	_ = s.input.Close()
}

// Close closes the input, waits, and kills the process when it does not go.
func (s *Stdio) Close() error {
	_ = s.input.Close()
	patience := time.NewTimer(s.grace)
	defer patience.Stop()
	select {
	case <-s.exited:
	case <-patience.C:
		s.Kill()
		return fmt.Errorf("close session: the server did not exit within %s of its input closing and was killed", s.grace)
	}
	return nil
}
