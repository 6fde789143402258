// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ServeChild is a stdio MCP server that keeps nothing itself: every line is
// answered by the provider behind the control URL, so the ledgers and the faults
// outlive the child. It ends when in ends, when a fault cuts it (ErrCut), or
// when the provider goes away or refuses connections.
func ServeChild(ctx context.Context, control string, in io.Reader, out io.Writer) error {
	transport := &http.Transport{DisableKeepAlives: true}
	c := NewClient(control, &http.Client{Transport: transport})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	leash, err := c.leash(ctx)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = leash.Close() }()
		_, _ = io.Copy(io.Discard, leash)
		cancel(ErrCut)
	}()
	err = serveLines(ctx, in, out, false, c.line)
	cancel(nil)
	<-done
	return err
}

// leash is a response that stays open for as long as the child may live.
func (c *Client) leash(ctx context.Context) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/child", nil)
	if err != nil {
		return nil, fmt.Errorf("fixture child: %w", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fixture child: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, fmt.Errorf("fixture child: %w", errors.New(res.Status))
	}
	return res.Body, nil
}

func (c *Client) line(ctx context.Context, raw []byte) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/child/line", bytes.NewReader(raw))
	if err != nil {
		return Answer{}, fmt.Errorf("fixture child: %w", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("fixture child: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	var a Answer
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		return Answer{}, fmt.Errorf("fixture child: %w", err)
	}
	return a, nil
}
