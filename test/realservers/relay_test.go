// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package realservers_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// relay stands between an MCP client and a stdio server. It passes lines on as
// they are, writes down each tool call that reaches the server and each answer
// that the server gives, and can keep those answers to itself: then the effect
// has happened and nobody on the client's side knows.
type relay struct {
	hold bool
	log  *os.File

	mu sync.Mutex
	// calls holds the tool names of the calls that the server has not answered, by request id.
	calls map[string]string
}

// relayed is the command line of a relay before server, whose log is file.
func relayed(t *testing.T, file string, hold bool, server []string) []string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	mode := "pass"
	if hold {
		mode = "hold"
	}
	return append([]string{program, relayCommand, file, mode}, server...)
}

func runRelay(arguments []string) error {
	if len(arguments) < 3 {
		return errors.New("usage: relay LOG pass|hold COMMAND [ARGUMENT...]")
	}
	log, err := os.OpenFile(arguments[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	r := &relay{hold: arguments[1] == "hold", log: log, calls: map[string]string{}}
	server := exec.Command(arguments[2], arguments[3:]...)
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	answered := make(chan error, 1)
	go func() { answered <- r.answers(out, os.Stdout) }()
	// The client's end of input ends the server, whose end of output ends the relay.
	requestErr := r.requests(os.Stdin, in)
	closeErr := in.Close()
	return errors.Join(requestErr, closeErr, <-answered, server.Wait(), log.Close())
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
	} `json:"params"`
}

func (r *relay) requests(from io.Reader, to io.Writer) error {
	return eachLine(from, func(line []byte) error {
		var m message
		if json.Unmarshal(line, &m) == nil && m.Method == "tools/call" {
			r.mu.Lock()
			r.calls[string(m.ID)] = m.Params.Name
			r.mu.Unlock()
			if _, err := fmt.Fprintln(r.log, "called", m.Params.Name); err != nil {
				return err
			}
		}
		_, err := to.Write(line)
		return err
	})
}

func (r *relay) answers(from io.Reader, to io.Writer) error {
	return eachLine(from, func(line []byte) error {
		var m message
		if json.Unmarshal(line, &m) == nil && m.Method == "" {
			r.mu.Lock()
			tool, isCall := r.calls[string(m.ID)]
			delete(r.calls, string(m.ID))
			r.mu.Unlock()
			if isCall {
				if _, err := fmt.Fprintln(r.log, "answered", tool); err != nil || r.hold {
					return err
				}
			}
		}
		_, err := to.Write(line)
		return err
	})
}

func eachLine(from io.Reader, do func(line []byte) error) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := do(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// count returns how many lines of a relay's log are line.
func count(t *testing.T, log, line string) int {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("read the relay's log: %v", err)
	}
	found := 0
	for text := range strings.Lines(string(data)) {
		if strings.TrimSpace(text) == line {
			found++
		}
	}
	return found
}

// awaitLine returns when a relay has written line to its log.
func awaitLine(t *testing.T, log, line string) {
	t.Helper()
	limit := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for count(t, log, line) == 0 {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("the relay has not written %q after a minute", line)
		}
	}
}
