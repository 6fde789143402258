// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// strike is what a proxy does to one step of a dialogue.
type strike int

const (
	pass strike = iota
	// refuseHere answers in the server's place; the server is not told.
	refuseHere
	// cutBefore ends the connection before the server has heard the step.
	cutBefore
	// cutAfter ends it when the server has answered, before the client hears it.
	cutAfter
	// halfReply passes the beginning of the reply and cuts then.
	halfReply
	// nonsense answers with something that is no SMTP.
	nonsense
	// silence keeps the connection and passes no reply.
	silence
)

// proxy stands between a client and an SMTP server and strikes at one step: "greeting", the verb of a command, "text" or "dot".
type proxy struct {
	address string
	step    string
	strike  strike
	code    int
	// heard gets a value when the strike has happened.
	heard chan struct{}
	held  chan struct{}
	work  sync.WaitGroup
}

func startProxy(t *testing.T, server, step string, with strike, code int) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: listener.Addr().String(), step: step, strike: with, code: code, heard: make(chan struct{}, 1), held: make(chan struct{})}
	p.work.Add(1)
	go func() {
		defer p.work.Done()
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.work.Add(1)
			go func() { defer p.work.Done(); p.serve(client, server) }()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); close(p.held); p.work.Wait() })
	return p
}

func (p *proxy) serve(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	fromClient, fromServer := bufio.NewReader(client), bufio.NewReader(server)
	step := "greeting"
	var line string
	for {
		if p.step == step && !p.before(client) {
			return
		}
		if line != "" {
			_, _ = server.Write([]byte(line))
		}
		reply, ok := wholeReply(fromServer)
		if !ok {
			return
		}
		if p.step == step && !p.after(client, reply) {
			return
		}
		if _, err := client.Write([]byte(reply)); err != nil {
			return
		}
		if step == "DATA" && strings.HasPrefix(reply, "354") {
			if !p.text(fromClient, client, server) {
				return
			}
			step, line = "dot", ".\r\n"
			continue
		}
		if line, err = fromClient.ReadString('\n'); err != nil {
			return
		}
		step = strings.ToUpper(strings.TrimRight(strings.SplitN(line, " ", 2)[0], "\r\n"))
	}
}

// text passes the text on and reads the dot, which is left to the caller.
func (p *proxy) text(from *bufio.Reader, client, server net.Conn) bool {
	for first := true; ; first = false {
		line, err := from.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			return true
		}
		_, _ = server.Write([]byte(line))
		if first && p.step == "text" && !p.before(client) {
			return false
		}
	}
}

// before says whether the step goes on to the server.
func (p *proxy) before(client net.Conn) bool {
	switch p.strike {
	case refuseHere:
		_, _ = fmt.Fprintf(client, "%d %d.7.1 not today\r\n", p.code, p.code/100)
		p.strike = cutBefore
		// The client may say QUIT; what it says is not passed on.
		_, _ = bufio.NewReader(client).ReadString('\n')
	case cutBefore:
	default:
		return true
	}
	p.hear()
	return false
}

// after says whether the reply goes on to the client.
func (p *proxy) after(client net.Conn, reply string) bool {
	switch p.strike {
	case halfReply:
		_, _ = client.Write([]byte(reply[:2]))
	case nonsense:
		_, _ = client.Write([]byte("HTTP/1.1 200 OK\r\n"))
	case silence:
		p.hear()
		<-p.held
		return false
	case cutAfter:
	default:
		return true
	}
	p.hear()
	return false
}

func (p *proxy) hear() {
	select {
	case p.heard <- struct{}{}:
	default:
	}
}

func wholeReply(r *bufio.Reader) (string, bool) {
	var whole strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", false
		}
		whole.WriteString(line)
		if len(line) > 3 && line[3] != '-' {
			return whole.String(), true
		}
	}
}
