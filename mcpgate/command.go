// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Command is an upstream that is a child process and speaks MCP on its standard streams. The zero values of all but Args are usable.
type Command struct {
	// Name is what people call the upstream, by default its program.
	Name string
	// Args is the program and its arguments; no shell is involved.
	Args []string
	// Dir is the working directory, by default the gateway's own.
	Dir string
	// Env is the whole environment of the child as NAME=value, by default the gateway's own.
	Env []string
	// Stderr takes what the child writes there, by default the gateway's own.
	Stderr io.Writer
	// MaxMessage is the longest message accepted from the child in bytes, by default 64 MiB.
	MaxMessage int
	// StopWait is how long a child may take to end after its input was closed, and again after SIGTERM; by default 3 s each.
	StopWait time.Duration
	// IdlePing is the silence after which a session is pinged before a mutation, by default 30 s.
	IdlePing time.Duration
	// Log takes one line for each thing that a person should know: restarts and unreadable output. By default they go to Stderr.
	Log func(text string)
	// Now is the clock, by default time.Now.
	Now func() time.Time
}

func (c Command) filled() Command {
	if c.Name == "" && len(c.Args) > 0 {
		c.Name = c.Args[0]
	}
	if c.Stderr == nil {
		c.Stderr = os.Stderr
	}
	if c.StopWait <= 0 {
		c.StopWait = 3 * time.Second
	}
	if c.IdlePing <= 0 {
		c.IdlePing = 30 * time.Second
	}
	if c.Log == nil {
		stderr := c.Stderr
		c.Log = func(text string) { fmt.Fprintln(stderr, "deed: "+text) }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// child is one run of the command. It is dead when the process was waited for, its whole process group was killed and its output was read
// to the end: only then can no late answer of it come, and only then may another one be started.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  *lineWriter
	read   chan struct{} // closed when the output is read to its end
	exited chan struct{} // closed when the process was waited for
	dead   chan struct{} // closed after both
	err    error         // why, valid after dead
	wait   time.Duration
}

// start runs the command; each line of its output goes to onLine, in order, from one goroutine that ends before dead is closed.
func (c Command) start(onLine func(line []byte, err error)) (*child, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("start upstream: no command is configured; nothing was started")
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = c.Dir, c.Env, c.Stderr
	// A grandchild that holds stderr open must not keep the death of the child from being seen.
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start upstream %q: %w", c.Args[0], err)
	}
	out, feed, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start upstream %q: %w", c.Args[0], err)
	}
	cmd.Stdout = feed
	err = cmd.Start()
	_ = feed.Close()
	if err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("start upstream %q: %w; nothing was sent", c.Args[0], err)
	}
	p := &child{
		cmd: cmd, stdin: stdin, lines: &lineWriter{w: stdin}, wait: c.StopWait,
		read: make(chan struct{}), exited: make(chan struct{}), dead: make(chan struct{}),
	}
	go p.readAll(out, c.MaxMessage, onLine)
	go p.reap()
	return p, nil
}

func (p *child) readAll(out io.ReadCloser, limit int, onLine func([]byte, error)) {
	defer close(p.read)
	defer out.Close()
	lines := newLineReader(out, limit)
	for {
		line, err := lines.next()
		if err != nil && !errors.Is(err, ErrTooLong) && !errors.Is(err, ErrCut) {
			return
		}
		onLine(line, err)
	}
}

func (p *child) reap() {
	err := p.cmd.Wait()
	close(p.exited)
	// What the process started may hold its streams open and go on working; a restart beside it could act twice.
	killGroup(p.cmd)
	<-p.read
	p.err = fmt.Errorf("%w (%v)", ErrUpstreamExited, exitText(err))
	close(p.dead)
}

func exitText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// stop asks the child to end, then makes it, and waits until it is dead.
func (p *child) stop() {
	_ = p.stdin.Close()
	for _, next := range []func(*exec.Cmd){terminateGroup, killGroup} {
		timer := time.NewTimer(p.wait)
		select {
		case <-p.dead:
			timer.Stop()
			return
		case <-timer.C:
			next(p.cmd)
		}
	}
	<-p.dead
}
