// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector/mail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post is a real SMTP server of this process with its own record of what it accepted.
type post struct {
	address string
	mu      sync.Mutex
	mails   []sentMail
	// refuse is asked at MAIL, RCPT and the dot, with the address where there is one.
	refuse func(stage, address string) error
}

type sentMail struct {
	From string
	To   []string
	Raw  string
	UTF8 bool
}

func startPost(t *testing.T, adjust func(*smtp.Server)) *post {
	t.Helper()
	p := &post{refuse: func(string, string) error { return nil }}
	server := smtp.NewServer(p)
	server.Domain = "mx.example.org"
	server.AllowInsecureAuth = true
	server.EnableSMTPUTF8 = true
	server.MaxMessageBytes = 64 << 20
	server.MaxLineLength = 4000
	server.ErrorLog = discard{}
	if adjust != nil {
		adjust(server)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = listener.Addr().String()
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); _ = listener.Close(); <-done })
	return p
}

type discard struct{}

func (discard) Printf(string, ...any) {}
func (discard) Println(...any)        {}

func (p *post) NewSession(*smtp.Conn) (smtp.Session, error) { return &postSession{post: p}, nil }

func (p *post) accepted() []sentMail {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]sentMail(nil), p.mails...)
}

func (p *post) asked(stage, address string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refuse(stage, address)
}

type postSession struct {
	post *post
	mail sentMail
}

func (s *postSession) AuthMechanisms() []string { return []string{"PLAIN", "LOGIN"} }

func (s *postSession) Auth(mechanism string) (sasl.Server, error) {
	check := func(user, password string) error {
		if user != "agent" || password != "secret" {
			return smtp.ErrAuthFailed
		}
		return nil
	}
	if mechanism == "LOGIN" {
		return &login{check: check}, nil
	}
	return sasl.NewPlainServer(func(_, user, password string) error { return check(user, password) }), nil
}

// login is the server's side of AUTH LOGIN.
type login struct {
	step  int
	user  string
	check func(user, password string) error
}

func (l *login) Next(response []byte) ([]byte, bool, error) {
	l.step++
	switch l.step {
	case 1:
		return []byte("Username:"), false, nil
	case 2:
		l.user = string(response)
		return []byte("Password:"), false, nil
	}
	return nil, true, l.check(l.user, string(response))
}

func (s *postSession) Mail(from string, options *smtp.MailOptions) error {
	s.mail = sentMail{From: from, UTF8: options != nil && options.UTF8}
	return s.post.asked("MAIL", from)
}

func (s *postSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if err := s.post.asked("RCPT", to); err != nil {
		return err
	}
	s.mail.To = append(s.mail.To, to)
	return nil
}

func (s *postSession) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := s.post.asked("dot", ""); err != nil {
		var verdict *smtp.SMTPError
		if !errors.As(err, &verdict) || verdict.Code >= 400 {
			return err
		}
	}
	s.mail.Raw = string(raw)
	s.post.mu.Lock()
	defer s.post.mu.Unlock()
	s.post.mails = append(s.post.mails, s.mail)
	return s.post.refuse("reply", "")
}

func (s *postSession) Reset()        {}
func (s *postSession) Logout() error { return nil }

func answer(code int) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 7, 1}, Message: "so it is"}
}

const marker = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
const messageID = "<" + marker + "@example.org>"

// serverAt is the server of an address without protection.
func serverAt(t *testing.T, address string) mail.Server {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return mail.Server{Host: host, Port: number, Security: "none"}
}

func account(t *testing.T, address string, adjust func(*mail.Options)) *mail.Account {
	t.Helper()
	options := mail.Options{Address: "agent@example.org", Name: "The Agent", SMTP: serverAt(t, address), Now: func() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }}
	if adjust != nil {
		adjust(&options)
	}
	a, err := mail.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// call runs a tool with the marker planted as the gateway does it.
func call(t *testing.T, ctx context.Context, a *mail.Account, tool string, arguments any) deed.Outcome {
	t.Helper()
	return callMarked(t, ctx, a, tool, marker, arguments)
}

func callMarked(t *testing.T, ctx context.Context, a *mail.Account, tool, marker string, arguments any) deed.Outcome {
	t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	if planting := a.Planting(tool); planting != nil {
		if raw, err = planting.Plant(raw, deed.Marks{Marker: marker}); err != nil {
			t.Fatal(err)
		}
	}
	return a.Call(ctx, tool, &deed.Grant{Unrecorded: true, Rule: deed.DefaultRule(deed.Tool("mail/" + tool))}, raw)
}

type args map[string]any

func plainMail() args {
	return args{"to": []string{"a@example.net"}, "subject": "Hello", "text": "Good day.\n"}
}

// structured is the structured content of a result.
func structured(t *testing.T, out deed.Outcome) map[string]any {
	t.Helper()
	var result struct {
		StructuredContent map[string]any `json:"structuredContent"`
		IsError           bool           `json:"isError"`
	}
	if err := json.Unmarshal(out.Result, &result); err != nil {
		t.Fatalf("result %s: %v", out.Result, err)
	}
	if result.IsError != out.ResultIsError {
		t.Errorf("the result says isError %v and the outcome %v", result.IsError, out.ResultIsError)
	}
	return result.StructuredContent
}
