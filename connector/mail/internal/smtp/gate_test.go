// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package smtp_test

import (
	"bufio"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed/connector/mail/internal/smtp"
)

// gate lets through so many questions.
type gate struct{ left int }

var errLate = errors.New("send_by has passed")

func (g *gate) MaySend() error {
	if g.left--; g.left < 0 {
		return errLate
	}
	return nil
}

func (g *gate) TimeToSend() time.Duration { return time.Minute }

// heard runs a server that agrees to everything and yields what it was told.
func heard(t *testing.T, data string) (address string, lines <-chan []string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	told := make(chan []string, 1)
	go func() {
		var all []string
		defer func() { told <- all }()
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		from := bufio.NewReader(conn)
		_, _ = conn.Write([]byte("220 mx\r\n"))
		text := false
		for {
			line, err := from.ReadString('\n')
			if err != nil {
				return
			}
			all = append(all, strings.TrimRight(line, "\r\n"))
			switch {
			case line == "DATA\r\n":
				text = true
				_, _ = conn.Write([]byte(data))
			case !text || line == ".\r\n":
				text = false
				_, _ = conn.Write([]byte("250 ok\r\n"))
			}
		}
	}()
	return listener.Addr().String(), told
}

func TestSendByIsAskedBeforeMailAndBeforeTheDot(t *testing.T) {
	for _, c := range []struct {
		name  string
		left  int
		phase smtp.Phase
		late  bool
		last  string
	}{
		{"past before MAIL", 0, smtp.NothingSent, true, "QUIT"},
		{"past before the dot", 1, smtp.BeforeDot, true, "..text"},
		{"in time", 2, smtp.AfterDot, false, "QUIT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address, lines := heard(t, "354 go\r\n")
			server := smtp.Server{Address: address, Security: smtp.Plain, Hello: "me"}
			got := server.Submit(t.Context(), smtp.Envelope{From: "a@example.org", To: []string{"b@example.org"}, Text: []byte("Subject: x\n\n.text")}, &gate{c.left})
			if got.Phase != c.phase || errors.Is(got.Err, errLate) != c.late {
				t.Errorf("%+v", got)
			}
			all := <-lines
			if all[len(all)-1] != c.last {
				t.Errorf("the server heard %q", all)
			}
		})
	}
}

func TestAnAnswerBeforeTheDotIsNoAcceptance(t *testing.T) {
	for _, c := range []struct {
		name, early string
		code        int
		fails       bool
	}{
		{"an acceptance out of turn", "250 queued\r\n", 250, true},
		{"a refusal out of turn", "552 5.3.4 too big\r\n", 552, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			address, _ := heard(t, "354 go\r\n"+c.early)
			server := smtp.Server{Address: address, Security: smtp.Plain, Hello: "me"}
			got := server.Submit(t.Context(), smtp.Envelope{From: "a@example.org", To: []string{"b@example.org"}, Text: []byte("Subject: x\n\ntext")}, &gate{2})
			if got.Phase != smtp.BeforeDot || got.Reply.Code != c.code || (got.Err != nil) != c.fails {
				t.Errorf("%+v", got)
			}
		})
	}
}
