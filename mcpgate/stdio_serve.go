// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// Stdio serves one client on a pair of streams, in front of one upstream.
type Stdio struct {
	// Name is the upstream's name, the first part of its tools' names.
	Name      string
	Upstream  Upstream
	Principal deed.Principal
	// Guard is nil for a transparent proxy.
	Guard Guard
	// MaxMessage is the longest message accepted from the client in bytes, by default 64 MiB.
	MaxMessage int
	// Drain is how long calls in flight may go on after the client has left, by default 10 s.
	Drain time.Duration
}

// Serve handles messages until in ends or ctx does, then lets guarded calls finish and closes the upstream. It returns nil after either,
// unless the upstream's command could not be started, or ended, before it ever said anything: then the client had errors only. A goroutine
// blocked in in.Read may outlive it, because a read of a terminal or pipe cannot be interrupted.
func (g Stdio) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := &lineWriter{w: out}
	outlet := stdioOutlet{lines}
	link := g.Upstream.Open(watch(g.Guard, g.Name, outlet.Event), false)
	s := newSession(g.Name, "stdio-"+rand.Text(), g.Principal, link, g.Guard)
	ended := make(chan error, 1)
	callers, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	came := &arrivals{Reader: in, guard: g.Guard}
	reader := newLineReader(came, g.MaxMessage)
	reader.came = came
	go g.read(callers, s, reader, outlet, ended)
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	wait := g.Drain
	if wait <= 0 {
		wait = 10 * time.Second
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	if closeErr := s.Close(drain); err == nil {
		err = closeErr
	}
	if own, ok := link.(*stdioLink); ok && err == nil {
		err = own.failed()
	}
	return err
}

// read handles messages until the client's end, which it tells ended. A call that takes time is seen to by the goroutine that has read it,
// and another one reads on: the call need not wait until a second goroutine runs.
func (g Stdio) read(ctx context.Context, s *Session, lines *lineReader, out stdioOutlet, ended chan<- error) {
	grown()
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			ended <- nil
			return
		case errors.Is(err, ErrTooLong):
			_ = out.End(Reply{Message: ErrorMessage(idOf(line), codeInvalidRequest, "the message is longer than the limit; nothing was done")})
			continue
		case errors.Is(err, ErrCut):
			ended <- nil // a message that was never sent whole was never sent
			return
		case err != nil:
			ended <- fmt.Errorf("read from the client: %w", err)
			return
		}
		m, err := ParseMessage(line)
		if err != nil {
			code := codeInvalidRequest
			if m.ID == nil {
				code = codeParse
			}
			_ = out.End(Reply{Message: ErrorMessage(m.ID, code, err.Error()+"; nothing was done")})
			continue
		}
		if rest := s.handle(ctx, m, nil, out, lines.began); rest != nil {
			go g.read(ctx, s, lines, out, ended)
			rest()
			return
		}
	}
}

func idOf(head []byte) json.RawMessage {
	switch key := headID(head); {
	case key == "":
		return nil
	case key[0] == '"':
		return rawjson.Quote(key[1:])
	default:
		return json.RawMessage(key)
	}
}

// stdioOutlet writes messages as lines.
type stdioOutlet struct{ lines *lineWriter }

func (o stdioOutlet) Head(int, http.Header) {}

func (o stdioOutlet) Event(e Event) { _ = o.put(e.Message) }

func (o stdioOutlet) End(r Reply) error { return o.put(r.Message) }

func (o stdioOutlet) put(m Message) error {
	if m.Raw == nil {
		return nil
	}
	_, err := o.lines.write(oneLine(m.Raw), nil)
	return err
}
