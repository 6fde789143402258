// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// Remote is an upstream that speaks Streamable HTTP, in either era. URL is required. Close it after its sessions.
type Remote struct {
	// URL is the MCP endpoint. Redirects are never followed: a request that was answered with one may have been executed.
	URL string
	// Written is URL as it was configured, with ${NAME} where a secret stands: logs and records tell of it so. By default URL holds no secret.
	Written string
	// Header is set on every request, over whatever a client sent; credentials belong here.
	Header http.Header
	// MaxMessage is the longest message accepted from the upstream in bytes, by default 64 MiB.
	MaxMessage int
	// IdlePing is the silence after which a session is pinged before a mutation, by default 30 s.
	IdlePing time.Duration
	// Transport replaces the gateway's own, in tests. It must not retry.
	Transport http.RoundTripper
	// Log takes what a person should know, by default a line on stderr.
	Log func(text string)
	// Now is the clock, by default time.Now.
	Now func() time.Time

	once sync.Once
	own  *http.Transport
}

// prepare fills what was left out. The transport keeps connections, speaks HTTP/2 where offered, and takes no proxy credentials from a
// client. Requests carry no GetBody, so that neither HTTP/1.1 nor HTTP/2 can repeat one whose body has left.
func (u *Remote) prepare() {
	u.once.Do(func() {
		if u.MaxMessage <= 0 {
			u.MaxMessage = defaultMaxMessage
		}
		if u.IdlePing <= 0 {
			u.IdlePing = 30 * time.Second
		}
		if u.Now == nil {
			u.Now = time.Now
		}
		if u.Log == nil {
			u.Log = func(text string) { fmt.Fprintln(os.Stderr, "deed: "+text) }
		}
		if u.Transport == nil {
			dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
			u.own = &http.Transport{
				Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
				MaxIdleConnsPerHost: 64, IdleConnTimeout: 60 * time.Second, TLSHandshakeTimeout: 10 * time.Second, DisableCompression: true,
			}
			u.Transport = u.own
		}
	})
}

// veil words an error of the transport: callers are told of what kind it is, and the record of an operation also where it happened.
func (u *Remote) veil(err error) error {
	told := outcome.Told(err)
	for _, own := range []error{ErrUpstreamClosed, errWrittenLate} {
		if errors.Is(err, own) {
			told = own.Error()
		}
	}
	return &deed.Veiled{Told: told, Err: fmt.Errorf("%s: %w", u.place(), u.place().Hide(err))}
}

func (u *Remote) place() outcome.Address { return outcome.Address{URL: u.URL, Written: u.Written} }

// before is the error of a request that was kept back because one before it failed.
func before(what string, err error) error {
	return &deed.Veiled{Told: what + " (" + deed.Told(err.Error()) + "), and nothing of the request was sent", Err: err}
}

// Open returns a session that begins with the client's first request.
func (u *Remote) Open(sink func(Event), shared bool) Link {
	u.prepare()
	l := &httpLink{remote: u, sink: sink, shared: shared, prefix: "deed-" + rand.Text()[:10] + "-", opening: make(chan struct{})}
	l.ended, l.end = context.WithCancel(context.Background())
	close(l.opening)
	return l
}

// Close drops idle connections.
func (u *Remote) Close() error {
	u.prepare()
	if u.own != nil {
		u.own.CloseIdleConnections()
	}
	return nil
}
