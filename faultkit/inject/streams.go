// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package inject

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
)

// ErrEnded says that a mishap ended the connection.
var ErrEnded = errors.New("a mishap ended the connection")

// Streams puts mishaps between a program and the caller on its standard streams:
// the program reads requests from the returned reader and writes answers, whole
// lines, to the returned writer. When a mishap ends the connection, end is called
// once (a program that plays a crash ends itself there) and the writer returns
// ErrEnded from then on.
func Streams(ctx context.Context, judge Judge, in io.Reader, out io.Writer, end func()) (io.Reader, io.Writer) {
	lines := NewLines(judge)
	return newRequestReader(ctx, lines, in), &answerWriter{ctx: ctx, lines: lines, out: out, end: end}
}

// requestReader passes requests on, line by line.
type requestReader struct {
	ctx     context.Context
	lines   *Lines
	in      *bufio.Reader
	pending bytes.Buffer
}

func newRequestReader(ctx context.Context, lines *Lines, in io.Reader) *requestReader {
	return &requestReader{ctx: ctx, lines: lines, in: bufio.NewReader(in)}
}

func (r *requestReader) Read(p []byte) (int, error) {
	for r.pending.Len() == 0 {
		line, err := r.in.ReadBytes('\n')
		if err != nil && len(line) == 0 {
			return 0, err
		}
		pass, judged := r.lines.Request(r.ctx, bytes.TrimRight(line, "\r\n"))
		if judged != nil {
			return 0, judged
		}
		for _, l := range pass {
			r.pending.Write(l)
			r.pending.WriteByte('\n')
		}
	}
	return r.pending.Read(p)
}

// answerWriter passes answers back, line by line.
type answerWriter struct {
	ctx   context.Context
	lines *Lines
	out   io.Writer
	end   func()

	mu      sync.Mutex
	partial []byte
	ended   bool
}

// Write implements io.Writer.
func (w *answerWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return 0, ErrEnded
	}
	w.partial = append(w.partial, p...)
	for {
		line, rest, whole := bytes.Cut(w.partial, []byte{'\n'})
		if !whole {
			return len(p), nil
		}
		verdict := w.lines.Answer(line)
		w.partial = rest
		if _, err := w.out.Write(verdict.Pass); err != nil {
			return 0, err
		}
		if verdict.Mishap != None {
			w.lines.judge.Struck(w.ctx, verdict.Mishap)
		}
		if verdict.End {
			w.ended = true
			if w.end != nil {
				w.end()
			}
			return 0, ErrEnded
		}
	}
}
