// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Client steers a provider in another process through its control port. It is
// safe for concurrent use.
type Client struct {
	base string
	http *http.Client
}

// NewClient returns a client for a control URL. A nil http client means one of
// its own without idle connections, so that nothing is left running.
func NewClient(control string, c *http.Client) *Client {
	if c == nil {
		c = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	}
	return &Client{base: strings.TrimRight(control, "/"), http: c}
}

// SetFaults appends orders to misbehave.
func (c *Client) SetFaults(ctx context.Context, list ...Fault) error {
	return c.do(ctx, http.MethodPost, "/faults", list, nil)
}

// Effects lists the effects that match; with AtLeast it waits for them, until
// ctx is done.
func (c *Client) Effects(ctx context.Context, s Selection) ([]Effect, error) {
	var list []Effect
	err := c.do(ctx, http.MethodGet, "/effects?"+s.query(), nil, &list)
	return list, err
}

// Requests lists the received calls, like Effects. Look-ups are listed only when
// their tool is named.
func (c *Client) Requests(ctx context.Context, s Selection) ([]Request, error) {
	var list []Request
	err := c.do(ctx, http.MethodGet, "/requests?"+s.query(), nil, &list)
	return list, err
}

// AwaitHeld waits until n calls of the tool (of any, when empty) are held.
func (c *Client) AwaitHeld(ctx context.Context, tool string, n int) error {
	return c.do(ctx, http.MethodGet, "/held?"+Selection{Tool: tool, AtLeast: n}.query(), nil, nil)
}

// Release lets held calls go on and accepts connections again.
func (c *Client) Release(ctx context.Context, tool string) error {
	return c.do(ctx, http.MethodPost, "/release", map[string]string{"tool": tool}, nil)
}

// Configure replaces the lasting traits until the next reset.
func (c *Client) Configure(ctx context.Context, s Settings) error {
	return c.do(ctx, http.MethodPost, "/settings", s, nil)
}

// Reset empties the ledgers and ends every fault.
func (c *Client) Reset(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/reset", nil, nil)
}

// ForgetSessions makes every MCP session unknown.
func (c *Client) ForgetSessions(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/sessions/forget", nil, nil)
}

func (s Selection) query() string {
	q := url.Values{}
	if s.Tool != "" {
		q.Set("tool", s.Tool)
	}
	if s.Op != "" {
		q.Set("op", s.Op)
	}
	if s.AtLeast > 0 {
		q.Set("at_least", strconv.Itoa(s.AtLeast))
	}
	return q.Encode()
}

func (c *Client) do(ctx context.Context, method, path string, body, into any) error {
	var payload io.Reader
	if body != nil {
		payload = bytes.NewReader(line(body))
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, payload)
	if err != nil {
		return fmt.Errorf("fixture control: %w", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("fixture control %s: %w", path, err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("fixture control %s: %w", path, err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("fixture control %s: %s: %s", path, res.Status, bytes.TrimSpace(answer))
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("fixture control %s: %w", path, err)
	}
	return nil
}
