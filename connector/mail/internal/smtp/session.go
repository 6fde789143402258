// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package smtp

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// session is one connection and what the server said it can do.
type session struct {
	ctx    context.Context
	server Server
	conn   net.Conn
	read   *bufio.Reader
	// offers maps the keywords of EHLO to their parameters.
	offers map[string]string
	// calm ends the watch over ctx.
	calm func() bool
}

// failed is a step that did not lead on: by a reply, or without one.
type failed struct {
	stage Stage
	reply Reply
	err   error
}

// open connects, greets, protects the connection and signs in. Nothing of a mail is said. The session must be closed, also after a failure.
func (s Server) open(ctx context.Context) (*session, *failed) {
	conn, err := (&net.Dialer{Timeout: s.stepTimeout()}).DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return &session{}, &failed{stage: StageConnect, err: err}
	}
	c := &session{ctx: ctx, server: s}
	c.use(conn)
	c.calm = context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	if s.Security == TLS {
		if err := c.protect(); err != nil {
			return c, &failed{stage: StageConnect, err: err}
		}
	}
	if reply, err := c.reply(s.stepTimeout()); err != nil || reply.Code != 220 {
		return c, &failed{StageGreeting, reply, unexpected(reply, err)}
	}
	if f := c.hello(); f != nil {
		return c, f
	}
	if s.Security == STARTTLS {
		if f := c.startTLS(); f != nil {
			return c, f
		}
	}
	if s.Username != "" {
		return c, c.signIn()
	}
	return c, nil
}

func (c *session) use(conn net.Conn) {
	c.conn = conn
	c.read = bufio.NewReaderSize(conn, maxLine)
}

func (c *session) protect() error {
	config := c.server.TLS.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(c.server.Address)
	}
	protected := tls.Client(c.conn, config)
	ctx, stop := context.WithTimeout(c.ctx, c.server.stepTimeout())
	defer stop()
	if err := protected.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS with %s: %w", c.server.Address, err)
	}
	c.use(protected)
	return nil
}

func (c *session) hello() *failed {
	reply, lines, err := c.command("EHLO " + c.server.Hello)
	if err != nil || !reply.Positive() {
		return &failed{StageHello, reply, unexpected(reply, err)}
	}
	c.offers = map[string]string{}
	for _, line := range lines[1:] {
		keyword, parameters, _ := strings.Cut(line, " ")
		c.offers[strings.ToUpper(keyword)] = parameters
	}
	return nil
}

func (c *session) startTLS() *failed {
	if _, offered := c.offers["STARTTLS"]; !offered {
		return &failed{stage: StageTLS, err: errors.New("the server does not offer STARTTLS, and nothing is said without it")}
	}
	reply, _, err := c.command("STARTTLS")
	if err != nil || reply.Code != 220 {
		return &failed{StageTLS, reply, unexpected(reply, err)}
	}
	// What came in the clear behind the reply would be taken for the protected server's word.
	if c.read.Buffered() > 0 {
		return &failed{stage: StageTLS, err: errors.New("the server said more than its reply before TLS began")}
	}
	if err := c.protect(); err != nil {
		return &failed{stage: StageTLS, err: err}
	}
	return c.hello()
}

// signIn authenticates (RFC 4954) by PLAIN (RFC 4616) or LOGIN.
func (c *session) signIn() *failed {
	mechanism := c.server.Mechanism
	if !contains(c.offers["AUTH"], mechanism) {
		return &failed{stage: StageAuth, err: fmt.Errorf("the server does not offer AUTH %s", mechanism)}
	}
	encode := base64.StdEncoding.EncodeToString
	steps := []string{"AUTH PLAIN " + encode([]byte("\x00"+c.server.Username+"\x00"+c.server.Password))}
	if mechanism == "LOGIN" {
		steps = []string{"AUTH LOGIN", encode([]byte(c.server.Username)), encode([]byte(c.server.Password))}
	}
	for i, step := range steps {
		reply, _, err := c.command(step)
		want := 334
		if i == len(steps)-1 {
			want = 235
		}
		if err != nil || reply.Code != want {
			return &failed{StageAuth, reply, unexpected(reply, err)}
		}
	}
	return nil
}

func contains(words, word string) bool {
	for _, w := range strings.Fields(words) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// limit is the largest text that the server takes (RFC 1870), 0 if it did not say.
func (c *session) limit() int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(c.offers["SIZE"]), 10, 64)
	return n
}

func (c *session) command(line string) (Reply, []string, error) {
	if err := c.write([]byte(line+"\r\n"), c.server.stepTimeout()); err != nil {
		return Reply{}, nil, err
	}
	c.deadline(c.conn.SetReadDeadline, c.server.stepTimeout())
	return readReply(c.read)
}

func (c *session) reply(within time.Duration) (Reply, error) {
	c.deadline(c.conn.SetReadDeadline, within)
	reply, _, err := readReply(c.read)
	return reply, err
}

func (c *session) write(b []byte, within time.Duration) error {
	c.deadline(c.conn.SetWriteDeadline, within)
	_, err := c.conn.Write(b)
	return err
}

// deadline sets one, unless the context has ended meanwhile.
func (c *session) deadline(set func(time.Time) error, within time.Duration) {
	_ = set(time.Now().Add(within))
	if c.ctx.Err() != nil {
		_ = c.conn.SetDeadline(time.Unix(1, 0))
	}
}

// quit says good-bye and closes. What the server says to that changes nothing.
func (c *session) quit() {
	if c.write([]byte("QUIT\r\n"), time.Second) == nil {
		_, _ = c.reply(time.Second)
	}
	c.close()
}

func (c *session) close() {
	if c.conn != nil {
		c.calm()
		_ = c.conn.Close()
	}
}

// unexpected is the error of a step whose reply was neither the one wanted nor a refusal.
func unexpected(reply Reply, err error) error {
	if err == nil && !reply.Negative() {
		return fmt.Errorf("%w: %d is no answer to this", errMalformed, reply.Code)
	}
	return err
}
