// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/deed-run/deed/connector/mail/internal/smtp"
	"github.com/deed-run/deed/internal/loopback"
)

// The words of Server.Security.
const (
	securityStartTLS = "starttls"
	securityTLS      = "tls"
	securityNone     = "none"
)

// complete fills in port and security from each other and refuses passwords in the clear.
func (s *Server) complete(startTLSPort, tlsPort int) error {
	if s.Port == 0 {
		s.Port = startTLSPort
		if s.Security == securityTLS {
			s.Port = tlsPort
		}
	}
	if s.Security == "" {
		s.Security = securityStartTLS
		if s.Port == tlsPort {
			s.Security = securityTLS
		}
	}
	orDefault(&s.Mechanism, "plain")
	switch s.Security {
	case securityStartTLS, securityTLS, securityNone:
	default:
		return fmt.Errorf("security %q is none of starttls, tls, none", s.Security)
	}
	if s.Mechanism != "plain" && s.Mechanism != "login" {
		return fmt.Errorf("auth %q is none of plain, login", s.Mechanism)
	}
	if s.Security == securityNone && s.Password != "" && !loopback.Is(s.Host) {
		return fmt.Errorf("a password would travel to %s in the clear; use starttls or tls", s.Host)
	}
	return nil
}

func (s Server) address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// tls is the configuration for a connection to the server.
func (s Server) tls() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	if config.ServerName == "" {
		config.ServerName = s.Host
	}
	return config
}

func (s Server) submission(o Options) smtp.Server {
	return smtp.Server{
		Address: s.address(), Security: smtp.Security(s.Security), TLS: s.tls(), Hello: o.Hello,
		Username: s.Username, Password: s.Password, Mechanism: strings.ToUpper(s.Mechanism), DotTimeout: max(o.DotTimeout, 10*time.Minute),
	}
}
