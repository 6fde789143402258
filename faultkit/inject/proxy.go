// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package inject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Proxy is an HTTP hop that loses, cuts, doubles and delays POSTs. It never
// repeats a request unless told to, follows no redirect and decompresses nothing.
// A server that it cannot connect to is answered for with 502 and the reason.
type Proxy struct {
	// Target is the URL behind the proxy. A request for / goes to exactly this
	// URL; any other path is joined to it.
	Target *url.URL
	Judge  Judge
	// CutAfter is how many bytes of the body CutReply lets pass; 0 means half.
	// With -1 the answer breaks off before its first byte.
	CutAfter int
	// Delay holds every request back before it is sent on; the wait ends early
	// when the caller leaves.
	Delay time.Duration
	// Transport carries the requests; nil means one without kept connections.
	Transport http.RoundTripper
}

// hopHeaders belong to one connection (RFC 9110, section 7.6.1).
var hopHeaders = []string{"Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Connection"}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if p.Delay > 0 {
		timer := time.NewTimer(p.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	}
	mishap := None
	if call, ok := p.call(r, body); ok {
		if mishap, err = p.Judge.Judge(r.Context(), call); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	if mishap == Duplicate {
		twin := make(chan struct{})
		go func() {
			defer close(twin)
			// The caller leaves with the first answer; the double must land all the same.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
			defer cancel()
			if res, err := p.send(ctx, r, body); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
			p.Judge.Struck(r.Context(), mishap)
		}()
		defer func() { <-twin }()
	}
	res, err := p.send(r.Context(), r, body)
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		// Nothing was sent: whoever set the proxy up named a server that is not there.
		http.Error(w, fmt.Sprintf("the server behind the proxy cannot be reached: %v", dial), http.StatusBadGateway)
		return
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = res.Body.Close() }()
	switch mishap {
	case LoseReply, Crash, CutReply:
		p.strike(w, r, res, mishap)
	default:
		p.pass(w, res)
	}
}

// call says whether a request is one that mishaps may strike: a tools/call, or a
// POST that is no JSON-RPC at all, named by its path.
func (p *Proxy) call(r *http.Request, body []byte) (Seen, bool) {
	if r.Method != http.MethodPost {
		return Seen{}, false
	}
	if _, call, ok := toolsCall(body); ok {
		return call, true
	}
	if bytes.Contains(body, []byte(`"jsonrpc"`)) {
		return Seen{}, false
	}
	return Seen{Tool: r.URL.Path, Arguments: nil}, true
}

// send carries the body on once. Without GetBody net/http cannot repeat it.
func (p *Proxy) send(ctx context.Context, r *http.Request, body []byte) (*http.Response, error) {
	transport := p.Transport
	if transport == nil {
		transport = &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	}
	target := *p.Target
	if r.URL.Path != "/" && r.URL.Path != "" {
		target = *p.Target.JoinPath(r.URL.Path)
	}
	target.RawQuery = r.URL.RawQuery
	req, err := http.NewRequestWithContext(ctx, r.Method, target.String(), io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	req.ContentLength = int64(len(body))
	if len(body) == 0 {
		req.Body = nil
	}
	req.Header = r.Header.Clone()
	for _, name := range hopHeaders {
		req.Header.Del(name)
	}
	return transport.RoundTrip(req)
}

func (p *Proxy) pass(w http.ResponseWriter, res *http.Response) {
	copyHeader(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	flush := http.NewResponseController(w)
	buffer := make([]byte, 32<<10)
	for {
		n, err := res.Body.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return
			}
			_ = flush.Flush()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// strike reads the whole answer, so that the server has done its work, and breaks
// off.
func (p *Proxy) strike(w http.ResponseWriter, r *http.Request, res *http.Response, mishap Mishap) {
	body, err := io.ReadAll(res.Body)
	if err == nil && mishap == CutReply && p.CutAfter >= 0 {
		cut := p.CutAfter
		if cut == 0 || cut > len(body) {
			cut = len(body) / 2
		}
		copyHeader(w.Header(), res.Header)
		if res.Header.Get("Content-Type") != "text/event-stream" {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		w.WriteHeader(res.StatusCode)
		_, _ = w.Write(body[:cut])
		_ = http.NewResponseController(w).Flush()
	}
	p.Judge.Struck(r.Context(), mishap)
	panic(http.ErrAbortHandler)
}

func copyHeader(to, from http.Header) {
	for name, values := range from {
		to[name] = values
	}
	for _, name := range hopHeaders {
		to.Del(name)
	}
}
