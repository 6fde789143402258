// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed/connector"
	"github.com/deed-run/deed/connector/mail"
	"github.com/deed-run/deed/outcome"
	"github.com/deed-run/deed/policy"
)

// Outside is something that a configuration talks to, for a check that has no
// effect there: at most a connection is made, or a public document read.
type Outside struct {
	// Name is how the configuration calls it, such as "http payments".
	Name string
	// Host is host:port, empty where the address is not known.
	Host string
	// TLS: the connection begins with a handshake, which checks the certificate.
	TLS bool
	// Document is the address of a public document of an issuer, which is read;
	// Issuer what it must say of itself, if it says that.
	Document string
	Issuer   string
	// Problem says what is wrong already without a connection.
	Problem string
	place   outcome.Address
}

// Outsiders lists what the configuration talks to, apart from its MCP servers.
func Outsiders(config *policy.Config, getenv func(string) string) []Outside {
	var list []Outside
	for _, name := range slices.Sorted(maps.Keys(config.HTTP)) {
		list = append(list, outsideAt("http "+name, config.HTTP[name].URL.Text))
	}
	for _, name := range slices.Sorted(maps.Keys(config.Connectors)) {
		list = append(list, reachedBy(config.Connectors[name], getenv)...)
	}
	for i, w := range config.Webhooks {
		// A path may be a secret (Slack), and is not told.
		one := outsideAt(fmt.Sprintf("webhook %d", i+1), w.URL.Text)
		if one.Problem == "" && w.Secret.Text == "" && w.Format != "slack" {
			one.Problem = "its secret is empty, so that nobody can tell its notices from forged ones"
		}
		list = append(list, one)
	}
	if j := config.Auth.JWT; j != nil {
		list = append(list, keySet("auth.jwt", j.JWKS, j.JWKSFile))
	}
	if c := config.Auth.Consents; c != nil {
		list = append(list, keySet("auth.consents", c.JWKS, c.JWKSFile))
	}
	if o := config.Auth.OIDC; o != nil {
		one := outsideAt("auth.oidc", o.Issuer)
		one.Document, one.Issuer = strings.TrimSuffix(o.Issuer, "/")+"/.well-known/openid-configuration", o.Issuer
		if o.ClientSecret.Text == "" {
			one.Problem = "client_secret is empty"
		}
		list = append(list, one)
	}
	return list
}

func outsideAt(name, address string) Outside {
	at, err := url.Parse(address)
	if err != nil || at.Hostname() == "" {
		return Outside{Name: name, Problem: "its address is no URL with a host"}
	}
	port := at.Port()
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[at.Scheme == "https"]
	}
	return Outside{Name: name, Host: net.JoinHostPort(at.Hostname(), port), TLS: at.Scheme == "https"}
}

func reachedBy(c policy.Connector, getenv func(string) string) []Outside {
	name := "connector " + c.Name
	tools, err := makeTools(c, getenv)
	if err != nil {
		return []Outside{{Name: name, Problem: err.Error()}}
	}
	defer closeTools(tools)
	switch own := tools.(type) {
	case *connector.Connector:
		return []Outside{outsideAt(name, own.BaseURL())}
	case *mail.Account:
		var list []Outside
		for i, host := range own.Servers() {
			list = append(list, Outside{Name: name + []string{" smtp", " imap"}[i], Host: host})
		}
		return list
	}
	return nil
}

func keySet(name string, address policy.Value, file string) Outside {
	if file != "" {
		if _, err := keysOf(name, "", file); err != nil {
			return Outside{Name: name, Problem: err.Error()}
		}
		return Outside{Name: name}
	}
	one := outsideAt(name, address.Text)
	one.Document, one.place = address.Text, outcome.Address{URL: address.Text, Written: address.Source}
	return one
}

// reachPatience bounds a look at one of them.
const reachPatience = 5 * time.Second

// maxDocument is the most that is read of an issuer's document.
const maxDocument = 1 << 20

// Reach connects, and reads the public document if there is one. skew is how
// far the other side's clock is ahead, where it says.
func (o Outside) Reach(ctx context.Context) (skew time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, reachPatience)
	defer cancel()
	if o.Document != "" {
		skew, err = o.read(ctx)
		return skew, o.place.Hide(err)
	}
	var conn net.Conn
	if o.TLS {
		conn, err = (&tls.Dialer{}).DialContext(ctx, "tcp", o.Host)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", o.Host)
	}
	if err != nil {
		return 0, err
	}
	return 0, conn.Close()
}

func (o Outside) read(ctx context.Context) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.Document, nil)
	if err != nil {
		return 0, err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	doc, err := io.ReadAll(io.LimitReader(res.Body, maxDocument))
	if err != nil {
		return 0, err
	}
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("it answers %s", res.Status)
	}
	var said struct {
		Issuer string            `json:"issuer"`
		Keys   []json.RawMessage `json:"keys"`
	}
	switch err := json.Unmarshal(doc, &said); {
	case err != nil:
		return 0, fmt.Errorf("what it answers is no JSON object: %w", err)
	case o.Issuer != "" && said.Issuer != o.Issuer:
		return 0, fmt.Errorf("it calls itself %q", said.Issuer)
	case o.Issuer == "" && len(said.Keys) == 0:
		return 0, errors.New("it holds no keys")
	}
	if at, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		return time.Until(at), nil
	}
	return 0, nil
}
