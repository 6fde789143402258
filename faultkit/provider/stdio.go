// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
)

// ErrCut says that a stdio server ended because a fault told it to.
var ErrCut = errors.New("the connection was cut by a fault")

// maxLine bounds one JSON-RPC line.
const maxLine = 16 << 20

// answerer answers one JSON-RPC line; an error ends the connection.
type answerer func(ctx context.Context, line []byte) (Answer, error)

// ServeStdio answers JSON-RPC lines until in ends, ctx is done or a fault cuts
// the connection (ErrCut). It returns when the calls that it received have had
// their effect.
func (p *Provider) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return serveLines(ctx, in, out, true, func(ctx context.Context, line []byte) (Answer, error) {
		if refusing, _ := p.gate.state(); refusing {
			return Answer{}, ErrCut
		}
		return p.Message(ctx, line, "stdio", ""), nil
	})
}

// serveLines runs every line on its own, as a server with slow tools does. When
// in ends it waits for the calls in flight; leave then tells them that nobody
// reads their answers any more.
func serveLines(ctx context.Context, in io.Reader, out io.Writer, leave bool, answer answerer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var calls sync.WaitGroup
	var writing sync.Mutex
	lines := make(chan []byte)
	ended := make(chan error, 1)
	go func() {
		scanner := bufio.NewScanner(in)
		scanner.Buffer(make([]byte, 64<<10), maxLine)
		for scanner.Scan() {
			select {
			case lines <- append([]byte(nil), scanner.Bytes()...):
			case <-ctx.Done():
				return
			}
		}
		ended <- scanner.Err()
	}()
	for {
		select {
		case line := <-lines:
			calls.Go(func() {
				a, err := answer(ctx, line)
				if err != nil {
					cancel(err)
					return
				}
				writing.Lock()
				defer writing.Unlock()
				if err := writeLine(out, a); err != nil {
					cancel(err)
				}
			})
		case err := <-ended:
			if leave {
				cancel(nil)
			}
			calls.Wait()
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func writeLine(out io.Writer, a Answer) error {
	switch a.Delivery {
	case Dropped:
		return ErrCut
	case Half:
		_, _ = out.Write(a.Line[:len(a.Line)/2])
		return ErrCut
	case Stray:
		if _, err := io.WriteString(out, "warning: this line is no JSON\n"); err != nil {
			return err
		}
	}
	if len(a.Line) == 0 {
		return nil
	}
	_, err := out.Write(append(a.Line, '\n'))
	return err
}
