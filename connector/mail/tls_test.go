// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/deed-run/deed/connector/mail"
)

// certificate is one for 127.0.0.1 and the pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, pool
}

func TestProtectedConnections(t *testing.T) {
	own, pool := certificate(t)
	trusting := &tls.Config{RootCAs: pool}
	for _, c := range []struct {
		name, mechanism, password string
		trust                     *tls.Config
		offered                   bool
		want                      verdict
	}{
		{"STARTTLS and PLAIN", "plain", "secret", trusting, true, accepted},
		{"STARTTLS and LOGIN", "login", "secret", trusting, true, accepted},
		{"a wrong password", "plain", "wrong", trusting, true, retryable},
		{"a certificate that nobody trusts", "plain", "secret", nil, true, notSent},
		{"STARTTLS is not offered", "plain", "secret", trusting, false, notSent},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := startPost(t, func(s *smtp.Server) {
				if c.offered {
					s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{own}}
				}
			})
			a := account(t, server.address, func(o *mail.Options) {
				o.SMTP.Security, o.SMTP.TLS, o.SMTP.Mechanism = "starttls", c.trust, c.mechanism
				o.SMTP.Username, o.SMTP.Password = "agent", c.password
			})
			out := call(t, t.Context(), a, "mail_send", plainMail())
			if of(out) != c.want || (len(server.accepted()) == 1) != (c.want == accepted) {
				t.Errorf("got %v with %d mails: %s", of(out), len(server.accepted()), out.Message)
			}
			if strings.Contains(out.Message+string(out.Result), c.password+" ") {
				t.Errorf("the answer holds the password: %s", out.Message)
			}
		})
	}
}

// TestNothingOfTheClearCountsAfterTLS: a reply that was slipped in behind the one to STARTTLS is not taken for the server's.
func TestNothingOfTheClearCountsAfterTLS(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan string)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			done <- err.Error()
			return
		}
		defer conn.Close()
		from := bufio.NewReader(conn)
		_, _ = conn.Write([]byte("220 mx\r\n"))
		_, _ = from.ReadString('\n')
		_, _ = conn.Write([]byte("250-mx\r\n250 STARTTLS\r\n"))
		_, _ = from.ReadString('\n')
		_, _ = conn.Write([]byte("220 go\r\n250 SMTPUTF8\r\n"))
		line, _ := from.ReadString('\n')
		done <- line
	}()
	defer listener.Close()
	out := call(t, t.Context(), account(t, listener.Addr().String(), func(o *mail.Options) { o.SMTP.Security = "starttls" }), "mail_send", plainMail())
	if line := <-done; of(out) != notSent || line != "" {
		t.Errorf("got %v and the server heard %q: %s", of(out), line, out.Message)
	}
}

func TestSTARTTLSThatFails(t *testing.T) {
	own, pool := certificate(t)
	for _, c := range []struct {
		name   string
		strike strike
		code   int
		want   verdict
	}{
		{"refused for now", refuseHere, 454, retryable}, {"refused", refuseHere, 502, retryable}, {"cut", cutAfter, 0, notSent}, {"half a reply", halfReply, 0, notSent},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := startPost(t, func(s *smtp.Server) { s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{own}} })
			between := startProxy(t, server.address, "STARTTLS", c.strike, c.code)
			out := call(t, t.Context(), account(t, between.address, func(o *mail.Options) {
				o.SMTP.Security, o.SMTP.TLS = "starttls", &tls.Config{RootCAs: pool}
			}), "mail_send", plainMail())
			if of(out) != c.want || len(server.accepted()) != 0 {
				t.Errorf("got %v: %s", of(out), out.Message)
			}
		})
	}
}
