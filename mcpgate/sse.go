// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// sseReader reads server-sent events as the WHATWG HTML standard (section 9.2) frames them, keeping each block's bytes.
type sseReader struct {
	r   *bufio.Reader
	max int
}

// next returns the next block, comments included, blank line included, and the data that it carries (nil without any). A stream that ends
// inside a block yields ErrCut; one that ends between blocks io.EOF.
func (s *sseReader) next() (block, data []byte, err error) {
	hasData := false
	for {
		line, err := s.line(len(block))
		block = append(block, line...)
		if err != nil {
			if errors.Is(err, io.EOF) && len(block) > 0 {
				err = ErrCut
			}
			return block, nil, err
		}
		text := bytes.TrimRight(line, "\r\n")
		if len(text) == 0 {
			if !hasData {
				data = nil
			}
			return block, data, nil
		}
		if value, ok := field(text, "data"); ok {
			if hasData {
				data = append(data, '\n')
			}
			data, hasData = append(data, value...), true
		}
	}
}

// line reads up to and with the next line end: LF, CR LF, or a lone CR.
func (s *sseReader) line(already int) ([]byte, error) {
	var line []byte
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return line, err
		}
		line = append(line, c)
		if already+len(line) > s.max {
			return line, ErrTooLong
		}
		if c == '\n' {
			return line, nil
		}
		if c == '\r' {
			if next, err := s.r.Peek(1); err == nil && next[0] == '\n' {
				continue
			}
			return line, nil
		}
	}
}

func field(line []byte, name string) ([]byte, bool) {
	head, value, found := bytes.Cut(line, []byte(":"))
	if !found {
		value = nil
	}
	return bytes.TrimPrefix(value, []byte(" ")), string(head) == name
}

// reblock puts other data into a block and keeps its other fields.
func reblock(block, data []byte) []byte {
	var out bytes.Buffer
	written := false
	for line := range bytes.Lines(block) {
		text := bytes.TrimRight(line, "\r\n")
		_, isData := field(text, "data")
		switch {
		case isData && written:
		case isData || len(text) == 0 && !written:
			for part := range bytes.SplitSeq(data, []byte("\n")) {
				out.WriteString("data: ")
				out.Write(part)
				out.WriteByte('\n')
			}
			written = true
			if !isData {
				out.Write(line)
			}
		default:
			out.Write(line)
		}
	}
	return out.Bytes()
}

// messageBlock makes a block for a message of the gateway's own or of a stdio upstream.
func messageBlock(m Message) []byte {
	return append(append([]byte("event: message\ndata: "), oneLine(m.Raw)...), '\n', '\n')
}
