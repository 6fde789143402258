// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// Options configure a Client. BaseURL is required.
type Options struct {
	// BaseURL is where the gateway listens, such as http://127.0.0.1:7391.
	BaseURL string
	// Token is the bearer token; empty for a gateway that serves its own machine
	// only.
	Token string
	// HTTP is the client to send with. Its redirects are never followed, and its
	// transport must not repeat requests by itself. By default one of its own,
	// without a time-out: contexts bound the calls.
	HTTP *http.Client
	// MaxAnswer bounds what is read of an answer, in bytes, by default 64 MiB.
	MaxAnswer int64
}

// Client speaks /v1 with one gateway. It is safe for concurrent use. It sends
// every request once: whatever breaks, repeating is its caller's decision, and
// safe under the same key or claim token.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
	limit int64
}

// New returns a Client.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("api: Options.BaseURL %q is no address of a gateway; write http://host:port", o.BaseURL)
	}
	c := &Client{base: base, token: o.Token, http: &http.Client{}, limit: o.MaxAnswer}
	if o.HTTP != nil {
		own := *o.HTTP
		c.http = &own
	}
	// A followed redirect is a second request, to somebody else, with the first
	// one's token.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.limit <= 0 {
		c.limit = 64 << 20
	}
	return c, nil
}

// once hides what net/http would need to send a body a second time.
type once struct{ io.Reader }

// post sends one request with a body and reads the answer into out.
func (c *Client) post(ctx context.Context, path, key string, body, out any) error {
	doc, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("api: POST %s: %w; nothing was sent", path, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address(path, nil), once{bytes.NewReader(doc)})
	if err != nil {
		return fmt.Errorf("api: POST %s: %w; nothing was sent", path, err)
	}
	req.ContentLength = int64(len(doc))
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", quoted(key))
	}
	return c.do(req, out)
}

func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.address(path, query), nil)
	if err != nil {
		return fmt.Errorf("api: GET %s: %w", path, err)
	}
	return c.do(req, out)
}

func (c *Client) address(path string, query url.Values) string {
	return strings.TrimSuffix(c.base.String(), "/") + path + suffix(query)
}

func suffix(query url.Values) string {
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

// quoted writes a key as an RFC 8941 string where that can hold it.
func quoted(key string) string {
	for _, c := range []byte(key) {
		if c < ' ' || c >= 0x7f {
			return key
		}
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

func (c *Client) do(req *http.Request, out any) error {
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	name := req.Method + " " + req.URL.Path
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%w to %s: %w", ErrNoAnswer, name, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.limit+1))
	switch {
	case err != nil:
		return fmt.Errorf("%w to %s: cut after the status %d: %w", ErrNoAnswer, name, resp.StatusCode, err)
	case int64(len(body)) > c.limit:
		return fmt.Errorf("%w to %s: it is longer than %d bytes", ErrNoAnswer, name, c.limit)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "application/problem+json" {
		problem := &ProblemError{}
		if err := json.Unmarshal(body, &problem.Problem); err != nil {
			return fmt.Errorf("%w to %s: HTTP %d with a problem that cannot be read: %w", ErrNoAnswer, name, resp.StatusCode, err)
		}
		return problem
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 || kind != "application/json" {
		return fmt.Errorf("%w to %s: HTTP %d with %q does not come from a gateway; check the address", ErrNoAnswer, name, resp.StatusCode, kind)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%w to %s: HTTP %d: %w", ErrNoAnswer, name, resp.StatusCode, err)
	}
	return nil
}

// AsProblem returns the problem that the gateway answered with, if err is one.
func AsProblem(err error) (Problem, bool) {
	var e *ProblemError
	if errors.As(err, &e) {
		return e.Problem, true
	}
	return Problem{}, false
}
