// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/keyheader"
	"github.com/deed-run/deed/outcome"
)

// Upstream is a REST API behind a Gate. URL is required.
type Upstream struct {
	// URL is the base under which the routes' paths are found.
	URL string
	// Written is URL as it was configured, with ${NAME} where a secret stands: logs
	// and records tell of it so. By default URL holds no secret.
	Written string
	// Header is set on every request, over whatever the client sent: the upstream's
	// credentials.
	Header http.Header
	// ForwardCredentials hands Authorization and Cookie of the client on, and cookies
	// of answers back, but for the console's own. Options.Auth must then know callers
	// by something else: their token for this gateway would be the upstream's to use.
	// Otherwise the client's credentials are for this gateway only.
	ForwardCredentials bool
	// KeyHeader carries the key that is minted for the provider, where the rule
	// declares one; Idempotency-Key by default. The caller's own key leaves only with
	// what is not guarded: in observe mode, and where the unnamed pass.
	KeyHeader string
	// TLS is the client's side of TLS; nil for the system's roots.
	TLS *tls.Config
}

// remote sends requests to an upstream.
type remote struct {
	Upstream
	base      *url.URL
	place     outcome.Address
	transport *http.Transport
	log       func(text string)
}

// Proxy returns a reverse proxy in front of an upstream. Everything that it is
// asked needs a principal, since the upstream's credentials go with it.
func (g *Gate) Proxy(u Upstream) (http.Handler, error) {
	place := outcome.Address{URL: u.URL, Written: u.Written}
	base, err := url.Parse(u.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.RawQuery != "" || base.User != nil {
		return nil, fmt.Errorf("httpgate: the upstream's URL %q is no http or https address without query and password", place)
	}
	if u.KeyHeader == "" {
		u.KeyHeader = keyheader.Name
	}
	r := &remote{Upstream: u, base: base, place: place, transport: newTransport(u.TLS), log: g.log}
	g.mu.Lock()
	g.idle = append(g.idle, r.transport.CloseIdleConnections)
	if g.identity == "" {
		g.identity = strings.TrimSuffix(place.String(), "/")
	}
	g.mu.Unlock()
	pass := &httputil.ReverseProxy{
		Transport: onceTransport{r.transport}, FlushInterval: -1,
		Rewrite:      func(p *httputil.ProxyRequest) { r.rewrite(p.Out, p.In) },
		ErrorHandler: r.failed,
		ModifyResponse: func(resp *http.Response) error {
			keepOut(resp.Header, !u.ForwardCredentials)
			return nil
		},
	}
	return &side{Gate: g, sender: r, pass: remembering(pass), known: true, errorWithin: g.readWithin, cookies: u.ForwardCredentials, origins: http.NewCrossOriginProtection()}, nil
}

// newTransport keeps connections and speaks HTTP/2 where offered. Its connections
// know what was written on them.
func newTransport(config *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSClientConfig: config,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &wire{Conn: conn}, nil
		},
		MaxIdleConnsPerHost: 64, IdleConnTimeout: 60 * time.Second, TLSHandshakeTimeout: 10 * time.Second, DisableCompression: true,
	}
}

func (u *remote) failed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) {
		panic(http.ErrAbortHandler)
	}
	u.log(fmt.Sprintf("%s %s: no answer: %v", r.Method, u.place, u.place.Hide(err)))
	asked := *r
	if own, ok := r.Context().Value(askedURL{}).(*url.URL); ok {
		asked.URL = own
	}
	dialed, ok := errors.AsType[*net.OpError](err)
	status, says := unanswered(!safe(r.Method), ok && dialed.Op == "dial")
	_ = problem(status, says.Kind, says.Title, says.Detail).write(w, &asked)
}

// askedURL is the context's entry for the address that the caller asked: what is
// passed on has the upstream's.
type askedURL struct{}

// remembering lets a handler's requests remember the address that was asked.
func remembering(pass http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pass.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), askedURL{}, r.URL)))
	})
}

// address is the upstream's URL for a path and query as they were spelt.
func (u *remote) address(target string) (*url.URL, error) {
	at, err := url.Parse(strings.TrimSuffix(u.base.EscapedPath(), "/") + target)
	if err != nil {
		return nil, err
	}
	at.Scheme, at.Host = u.base.Scheme, u.base.Host
	return at, nil
}

// rewrite prepares a request that is not guarded.
func (u *remote) rewrite(out, in *http.Request) {
	target := in.URL.EscapedPath()
	if in.URL.RawQuery != "" {
		target += "?" + in.URL.RawQuery
	}
	if at, err := u.address(target); err == nil {
		out.URL = at
	}
	out.Host = u.base.Host
	upgrade, connection := out.Header.Get("Upgrade"), out.Header.Get("Connection")
	keys := out.Header
	out.Header = u.header(out.Header)
	if !safe(in.Method) {
		handKeysOn(out.Header, keys)
	}
	if upgrade != "" {
		out.Header.Set("Upgrade", upgrade)
		out.Header.Set("Connection", connection)
	}
}

// header is what of a client's header goes on to the upstream, and what is the
// upstream's own.
func (u *remote) header(h http.Header) http.Header {
	out := endToEnd(h)
	for name := range out {
		if notForwarded(name) || credential(hyphenated(name)) && !u.ForwardCredentials {
			delete(out, name)
		}
	}
	if own := foreignCookies(out["Cookie"]); own != nil {
		out["Cookie"] = own
	} else {
		delete(out, "Cookie")
	}
	for name, values := range u.Header {
		name = http.CanonicalHeaderKey(name)
		dropTwins(out, name)
		out[name] = values
	}
	return out
}

// notForwarded: headers between client and gateway, in every spelling.
func notForwarded(name string) bool {
	name = hyphenated(name)
	if carriesKey(name) || changesRequest(name) {
		return true
	}
	switch name {
	case "Forwarded", "Expect", "Content-Length", "Host", "Proxy-Authorization":
		return true
	}
	return strings.HasPrefix(name, "Deed-") || strings.HasPrefix(name, "X-Forwarded-")
}

func credential(name string) bool { return name == "Authorization" || name == "Cookie" }

// send hands a guarded request over. It asks the transport itself: no redirect is
// followed, and nothing that the transport could repeat is given to it.
func (u *remote) send(ctx context.Context, s snapshot, x *reading, g *deed.Grant, p permit) (*http.Response, bool, error) {
	at, err := u.address(s.target)
	if err != nil {
		return nil, true, u.place.Hide(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l := &line{permit: p, cancel: cancel}
	req, err := http.NewRequestWithContext(l.traced(ctx), s.method, at.String(), newOnce(s.body, l))
	if err != nil {
		cancel(nil)
		return nil, true, u.place.Hide(err)
	}
	req.ContentLength = int64(len(s.body))
	req.Header = u.header(x.Header)
	// An answer that is kept must suit whoever asks for it later.
	for _, name := range []string{"Accept-Encoding", "Content-Type", "Content-Encoding", "If-None-Match", "If-Modified-Since", "Range"} {
		req.Header.Del(name)
	}
	setOr(req.Header, "Content-Type", s.kind)
	setOr(req.Header, "Content-Encoding", s.coding)
	dropTwins(req.Header, append(slices.Clone(s.own), "Content-Type", "Content-Encoding", http.CanonicalHeaderKey(u.KeyHeader))...)
	for name, values := range s.header {
		req.Header[name] = values
	}
	looksOn := looksOn(g)
	if looksOn {
		handKeysOn(req.Header, x.Header)
	}
	if g.ProviderKey != "" && !(looksOn && req.Header.Get(u.KeyHeader) != "") {
		req.Header.Set(u.KeyHeader, g.ProviderKey)
	}
	resp, err := u.transport.RoundTrip(req)
	if err != nil {
		unsent := l.unsent(err)
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = fmt.Errorf("%w (%w)", cause, err)
		}
		cancel(nil)
		return nil, unsent, fmt.Errorf("%s %s%s: %w", s.method, strings.TrimSuffix(u.place.String(), "/"), s.target, u.place.Hide(err))
	}
	keepOut(resp.Header, !u.ForwardCredentials)
	resp.Body = &closing{resp.Body, func() { l.stop(); cancel(nil) }}
	return resp, false, nil
}

// looksOn says that the caller is answered as if no gate stood here: nothing is
// recorded of the request, or what is recorded is only observed.
func looksOn(g *deed.Grant) bool { return g.Unrecorded || g.Rule.Mode == deed.ModeObserve }

func setOr(h http.Header, name, text string) {
	if text != "" {
		h.Set(name, text)
	}
}
