// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// hostile returns the command of the hostile upstream and the file where it notes what it received.
func hostile(t *testing.T) (mcpgate.Command, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "received")
	return mcpgate.Command{
		Args: []string{os.Args[0]}, Env: append(os.Environ(), "MCPGATE_UPSTREAM="+log), Stderr: io.Discard,
		Log: func(string) {}, StopWait: 2 * time.Second,
	}, log
}

// lineClient is a client that writes and reads lines.
type lineClient struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan string
	done  chan error
	once  sync.Once
}

// serve runs a stdio gateway and returns its client.
func serve(t *testing.T, g mcpgate.Stdio) *lineClient {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &lineClient{t: t, in: inW, lines: make(chan string, 1000), done: make(chan error, 1)}
	go func() {
		err := g.Serve(context.Background(), inR, outW)
		outW.Close()
		c.done <- err
	}()
	go func() {
		defer close(c.lines)
		scanner := bufio.NewScanner(outR)
		scanner.Buffer(nil, 64<<20)
		for scanner.Scan() {
			c.lines <- scanner.Text()
		}
	}()
	t.Cleanup(c.close)
	return c
}

func (c *lineClient) close() {
	c.once.Do(func() {
		c.in.Close()
		if err := <-c.done; err != nil {
			c.t.Errorf("serve ended with %v", err)
		}
		for range c.lines {
		}
	})
}

// ends closes the input and wants Serve to return an error that begins so.
func (c *lineClient) ends(want string) {
	c.t.Helper()
	c.once.Do(func() {
		c.in.Close()
		if err := <-c.done; err == nil || !strings.HasPrefix(err.Error(), want) {
			c.t.Errorf("serve ended with %v, want %s", err, want)
		}
		for range c.lines {
		}
	})
}

func (c *lineClient) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		c.t.Fatal(err)
	}
}

// next returns the next line from the gateway.
func (c *lineClient) next() string {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the gateway closed its output")
		}
		return line
	case <-time.After(time.Minute):
		c.t.Fatal("no line came")
	}
	return ""
}

// reply returns the next line that answers the request with this id.
func (c *lineClient) reply(id string) string {
	c.t.Helper()
	for {
		line := c.next()
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			c.t.Fatalf("%s: %v", line, err)
		}
		if m.Method == "" && string(m.ID) == id {
			return line
		}
	}
}

func (c *lineClient) initialize() {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	c.reply(`"init"`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in %s", p, text)
		}
	}
}

// byToken authenticates by the bare Authorization header.
func byToken(r *http.Request) (deed.Principal, error) {
	if r.Header.Get("Authorization") == "" {
		return deed.Principal{}, errors.New("no token")
	}
	return deed.Principal{Tenant: "t", Actor: deed.Actor(r.Header.Get("Authorization")), Rights: tester.Rights}, nil
}
