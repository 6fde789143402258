// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// defaultMaxMessage bounds one message when nothing is configured.
const defaultMaxMessage = 64 << 20

// arrivals notes when the bytes of the last read came. Lines that one read brought came together, however long each waits for its turn.
type arrivals struct {
	io.Reader
	guard Guard
	at    time.Time
}

func (a *arrivals) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if a.guard != nil {
		a.at = a.guard.Now()
	}
	return n, err
}

// lineReader frames the MCP stdio transport: one message per line, no line longer than max.
type lineReader struct {
	r   *bufio.Reader
	max int
	// came is asked when the first byte of a line is there; nil if nobody wants to know. began is its answer for the line that next returned.
	came  *arrivals
	began time.Time
}

func newLineReader(r io.Reader, limit int) *lineReader {
	if limit <= 0 {
		limit = defaultMaxMessage
	}
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next returns the next non-empty line without its end, as bytes of its own. A line over the limit is read to its end and reported as
// ErrTooLong together with its first bytes. A last line that does not end is cut: it comes with ErrCut, then io.EOF.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return line, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (l *lineReader) line() ([]byte, error) {
	var line []byte
	tooLong := false
	if l.came != nil {
		// Whoever had begun to write a line had not read what was answered after that.
		if _, err := l.r.Peek(1); err != nil {
			return nil, err
		}
		l.began = l.came.at
	}
	for {
		part, err := l.r.ReadSlice('\n')
		if !tooLong {
			line = append(line, part...)
			tooLong = len(line) > l.max
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && len(line) > 0 && errors.Is(err, io.EOF):
			return line, ErrCut
		case err != nil:
			return nil, err
		case tooLong:
			return line[:min(len(line), 4096)], ErrTooLong
		default:
			return line, nil
		}
	}
}

// lineWriter writes whole lines from any goroutine. After a write has failed or stopped half-way nothing more is written: the reader on
// the other side would see two messages in one line.
type lineWriter struct {
	mu  sync.Mutex
	w   io.Writer
	err error
	buf []byte
}

// write returns how many bytes of the line may have been taken by the other side. gate, when set, is asked right before the first byte: its
// error means that nothing was written, its time is when writing must have ended.
func (l *lineWriter) write(line []byte, gate func() (time.Time, error)) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	l.buf = append(append(l.buf[:0], line...), '\n')
	if cap(l.buf) > 1<<20 {
		defer func() { l.buf = nil }()
	}
	if gate != nil {
		until, err := gate()
		if err != nil {
			return 0, err
		}
		if d, ok := l.w.(interface{ SetWriteDeadline(time.Time) error }); ok && d.SetWriteDeadline(until) == nil {
			defer func() { _ = d.SetWriteDeadline(time.Time{}) }()
		}
	}
	n, err := l.w.Write(l.buf)
	l.err = err
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		l.err = nil
	}
	return n, err
}

// oneLine returns raw without line ends, which a message of pretty-printed JSON may hold between its tokens. Inside JSON strings they
// cannot stand, so nothing else changes.
func oneLine(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, raw)
}
