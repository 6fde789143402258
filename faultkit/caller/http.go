// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package caller

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// HTTP is a session over Streamable HTTP.
type HTTP struct {
	url     string
	version string
	header  http.Header
	client  *http.Client

	mu      sync.Mutex
	next    int
	session string
}

// StatusError is an HTTP answer without a JSON-RPC answer in it.
type StatusError struct {
	Status     int
	RetryAfter string
}

func (e *StatusError) Error() string { return fmt.Sprintf("the server answered HTTP %d", e.Status) }

// DialHTTP opens a session. Version is Modern or Legacy (with its handshake);
// header is added to every request.
func DialHTTP(ctx context.Context, url, version string, header http.Header) (*HTTP, error) {
	h := &HTTP{
		url: url, version: version, header: header,
		// Without kept connections net/http never repeats a request on its own.
		client: &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if version == Modern {
		return h, nil
	}
	h.version = Legacy
	if _, err := h.Request(ctx, "initialize", initializeParams()); err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	res, err := h.post(ctx, []byte(initialized), "notifications/initialized", "")
	if err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	return h, res.Body.Close()
}

// Request implements Session.
func (h *HTTP) Request(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	h.mu.Lock()
	h.next++
	id := h.next
	h.mu.Unlock()
	body, err := encode(h.version, id, method, params)
	if err != nil {
		return nil, err
	}
	name, _ := params["name"].(string)
	res, err := h.post(ctx, body, method, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", method, ErrNoAnswer, err)
	}
	defer func() { _ = res.Body.Close() }()
	if session := res.Header.Get("Mcp-Session-Id"); session != "" {
		h.mu.Lock()
		h.session = session
		h.mu.Unlock()
	}
	a, err := readAnswer(res, id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return a.outcome()
}

func (h *HTTP) post(ctx context.Context, body []byte, method, name string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil
	for field, values := range h.header {
		req.Header[field] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", h.version)
	if h.version == Modern {
		req.Header.Set("Mcp-Method", method)
		if name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	}
	h.mu.Lock()
	if h.session != "" {
		req.Header.Set("Mcp-Session-Id", h.session)
	}
	h.mu.Unlock()
	return h.client.Do(req)
}

// readAnswer finds the answer to the request in a JSON body or an event stream.
func readAnswer(res *http.Response, id int) (answer, error) {
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return readStream(res.Body, id)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	var a answer
	if json.Unmarshal(body, &a) == nil && (a.Result != nil || a.Error != nil) {
		return a, nil
	}
	if res.StatusCode != http.StatusOK {
		return answer{}, &StatusError{Status: res.StatusCode, RetryAfter: res.Header.Get("Retry-After")}
	}
	return answer{}, fmt.Errorf("%w: the body is no JSON-RPC answer", ErrNoAnswer)
}

func readStream(body io.Reader, id int) (answer, error) {
	scanner := bufio.NewScanner(body)
	scanner.Buffer(make([]byte, 64<<10), 64<<20)
	var data []byte
	for scanner.Scan() {
		line := scanner.Bytes()
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
			continue
		}
		if len(line) > 0 {
			continue
		}
		var a answer
		if json.Unmarshal(data, &a) == nil && a.ID != nil && *a.ID == id && a.Method == "" {
			return a, nil
		}
		data = nil
	}
	return answer{}, fmt.Errorf("%w: %w", ErrNoAnswer, errors.Join(io.ErrUnexpectedEOF, scanner.Err()))
}

// Close implements Session. It sends nothing: a session may be left open, as by a
// client that crashed.
func (h *HTTP) Close() error {
	h.client.CloseIdleConnections()
	return nil
}
