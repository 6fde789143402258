// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"testing"
)

// smtpCut stands before an SMTP server. Of its first mail the server's reply to
// the final dot never reaches the client; later mails pass.
type smtpCut struct {
	address string
	// hold keeps the connection open instead of ending it.
	hold bool
	// taken is closed when the server has answered the dot of the first mail.
	taken chan struct{}
	ended chan struct{}
	once  sync.Once
	work  sync.WaitGroup
}

func newSMTPCut(t *testing.T, server string, hold bool) *smtpCut {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &smtpCut{address: listener.Addr().String(), hold: hold, taken: make(chan struct{}), ended: make(chan struct{})}
	c.work.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			c.work.Go(func() { c.serve(client, server) })
		}
	})
	t.Cleanup(func() {
		close(c.ended)
		_ = listener.Close()
		c.work.Wait()
	})
	return c
}

// serve passes one dialogue on, reply by reply, in step with the commands.
func (c *smtpCut) serve(client net.Conn, address string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	fromClient, fromServer := bufio.NewReader(client), bufio.NewReader(server)
	dot := false
	for {
		reply, err := smtpReply(fromServer)
		if err != nil || dot && c.strikes() {
			return
		}
		if _, err := client.Write([]byte(reply)); err != nil {
			return
		}
		dot = strings.HasPrefix(reply, "354")
		if err := pass(fromClient, server, dot); err != nil {
			return
		}
	}
}

// strikes reports whether this is the reply that gets lost.
func (c *smtpCut) strikes() (first bool) {
	c.once.Do(func() {
		first = true
		close(c.taken)
	})
	if first && c.hold {
		<-c.ended
	}
	return first
}

// pass passes a command on, or a whole text with its dot.
func pass(from *bufio.Reader, to net.Conn, text bool) error {
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return err
		}
		if _, err := to.Write([]byte(line)); err != nil {
			return err
		}
		if !text || line == ".\r\n" {
			return nil
		}
	}
}

func smtpReply(from *bufio.Reader) (string, error) {
	var whole strings.Builder
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return "", err
		}
		whole.WriteString(line)
		if len(line) > 3 && line[3] != '-' {
			return whole.String(), nil
		}
	}
}
