// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package smtp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Bounds on one reply. RFC 5321 section 4.5.3.1.5 allows 512 octets for a line; servers exceed it.
const (
	maxLine  = 4096
	maxLines = 100
)

// Reply is a whole reply of a server (RFC 5321 section 4.2), zero when there was none.
type Reply struct {
	Code int
	// Enhanced is the code of RFC 3463, such as "5.1.1", where the text begins with one.
	Enhanced string
	// Text is what follows, lines joined by a space, control characters removed. It is the server's word and not to be trusted.
	Text string
}

// Positive reports a 2xx reply.
func (r Reply) Positive() bool { return r.Code >= 200 && r.Code < 300 }

// Temporary reports a 4xx reply.
func (r Reply) Temporary() bool { return r.Code >= 400 && r.Code < 500 }

// Permanent reports a 5xx reply.
func (r Reply) Permanent() bool { return r.Code >= 500 && r.Code < 600 }

// Negative reports a 4xx or 5xx reply: what was asked for was not done.
func (r Reply) Negative() bool { return r.Temporary() || r.Permanent() }

// String is the reply in one line.
func (r Reply) String() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", r.Code, strings.TrimSpace(r.Enhanced+" "+r.Text)))
}

// errMalformed: the server said something that is no SMTP.
var errMalformed = errors.New("the server's reply is malformed")

var enhanced = regexp.MustCompile(`^([245]\.[0-9]{1,3}\.[0-9]{1,3})(?: |$)`)

// readReply reads one whole reply. What ends before its last line break is no reply.
func readReply(r *bufio.Reader) (Reply, []string, error) {
	var reply Reply
	var lines []string
	for {
		raw, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return Reply{}, nil, fmt.Errorf("%w: a line has more than %d bytes", errMalformed, maxLine)
		case errors.Is(err, io.EOF):
			return Reply{}, nil, fmt.Errorf("the server closed the connection: %w", io.ErrUnexpectedEOF)
		case err != nil:
			return Reply{}, nil, err
		}
		line := strings.TrimRight(string(raw), "\r\n")
		code, more, text, ok := splitLine(line)
		if !ok || reply.Code != 0 && code != reply.Code {
			return Reply{}, nil, errMalformed
		}
		reply.Code = code
		lines = append(lines, printable(text))
		if !more {
			break
		}
		if len(lines) == maxLines {
			return Reply{}, nil, fmt.Errorf("%w: more than %d lines", errMalformed, maxLines)
		}
	}
	texts := make([]string, 0, len(lines))
	for _, line := range lines {
		if found := enhanced.FindStringSubmatch(line); found != nil {
			reply.Enhanced = found[1]
			line = strings.TrimSpace(line[len(found[1]):])
		}
		texts = append(texts, line)
	}
	reply.Text = strings.TrimSpace(strings.Join(texts, " "))
	return reply, lines, nil
}

func splitLine(line string) (code int, more bool, text string, ok bool) {
	if len(line) < 3 {
		return 0, false, "", false
	}
	for _, c := range []byte(line[:3]) {
		if c < '0' || c > '9' {
			return 0, false, "", false
		}
		code = code*10 + int(c-'0')
	}
	if code < 200 || code > 599 {
		return 0, false, "", false
	}
	if len(line) == 3 {
		return code, false, "", true
	}
	switch line[3] {
	case ' ':
		return code, false, line[4:], true
	case '-':
		return code, true, line[4:], true
	}
	return 0, false, "", false
}

func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 || c == '\ufffd' {
			return -1
		}
		return c
	}, text)
}
