// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"github.com/deed-run/deed/faultkit/caller"
)

// A program's calls over HTTP are shown here in the form of MCP's results, so
// that one story is played at every door. What a program cannot see is not there.

// plain is a client without kept connections, which never repeats a request.
func plain() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }

// exchange is one request and its whole answer.
func exchange(client *http.Client, req *http.Request) (*http.Response, []byte, error) {
	resp, err := client.Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", caller.ErrNoAnswer, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", caller.ErrNoAnswer, err)
	}
	return resp, body, nil
}

// named takes a call apart: the key, and the facts that a runtime states.
func named(params map[string]any) (tool string, arguments json.RawMessage, key string, facts map[string]string) {
	tool, _ = params["name"].(string)
	arguments, _ = params["arguments"].(json.RawMessage)
	facts = map[string]string{}
	meta, _ := params["_meta"].(map[string]any)
	for name, value := range meta {
		text, _ := value.(string)
		switch short, ours := strings.CutPrefix(name, "deed/"); {
		case name == "deed/idempotency-key":
			key = text
		case ours:
			facts[short] = text
		}
	}
	return tool, arguments, key, facts
}

// toRepeat says in words what a program reads in members and headers.
func toRepeat(seconds float64) string {
	return fmt.Sprintf("call again with the same arguments after %d s", max(1, int(seconds)))
}

// v1Session calls the tools of the shop over /v1.
type v1Session struct {
	base   string
	client *http.Client
}

func (s *v1Session) Close() error { return nil }

func (s *v1Session) Request(ctx context.Context, _ string, params map[string]any) (json.RawMessage, error) {
	tool, arguments, key, facts := named(params)
	body, err := json.Marshal(map[string]any{"arguments": arguments, "meta": facts})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/v1/tools/shop/"+url.PathEscape(tool)+"/calls", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", `"`+key+`"`)
	}
	resp, answer, err := exchange(s.client, req)
	if err != nil {
		return nil, err
	}
	return fromV1(resp, answer)
}

// told is what /v1 answers, as a result or as a problem.
type told struct {
	Type, Detail     string
	Decision, Reason string
	RetryAfter       float64         `json:"retry_after"`
	SimilarTo        string          `json:"similar_to"`
	Twin             string          `json:"twin"`
	OperationID      string          `json:"operation_id"`
	OperationStatus  string          `json:"operation_status"`
	Result           json.RawMessage `json:"result"`
	Operation        *struct {
		ID        string `json:"operation_id"`
		Status    string
		Retryable bool
		Attempt   int
		Receipt   json.RawMessage
	}
}

func fromV1(resp *http.Response, answer []byte) (json.RawMessage, error) {
	var t told
	if err := json.Unmarshal(answer, &t); err != nil {
		return nil, &caller.StatusError{Status: resp.StatusCode}
	}
	result := map[string]json.RawMessage{}
	_ = json.Unmarshal(t.Result, &result)
	if resp.StatusCode >= 300 {
		result["isError"] = raw(true)
		text := t.Detail
		fragment := t.Type[strings.LastIndex(t.Type, "#")+1:]
		again := fragment == "in-progress" || fragment == "not-sent" || fragment == "ledger-unavailable" || fragment == "failed" && t.Operation != nil && t.Operation.Retryable
		if again {
			text = toRepeat(t.RetryAfter)
		}
		result["content"] = raw([]object{{"type": "text", "text": text}})
	}
	if t.Operation != nil || t.Decision != "execute" {
		op := caller.Operation{ID: t.OperationID, Status: t.OperationStatus, Decision: t.Decision, Reason: t.Reason, RetryAfter: t.RetryAfter}
		if o := t.Operation; o != nil {
			op.ID, op.Status, op.Attempt, op.Receipt = o.ID, o.Status, o.Attempt, o.Receipt
		}
		op.Replayed = resp.Header.Get("Idempotent-Replayed") == "true"
		if t.SimilarTo != "" {
			op.SimilarTo = json.RawMessage(strconv.Quote(t.SimilarTo))
		}
		result["_meta"] = raw(object{"deed/operation": op})
	}
	return json.Marshal(result)
}

// proxySession calls the provider's own API through the reverse proxy.
type proxySession struct {
	base   string
	client *http.Client
}

func (s *proxySession) Close() error { return nil }

func (s *proxySession) Request(ctx context.Context, _ string, params map[string]any) (json.RawMessage, error) {
	tool, arguments, key, facts := named(params)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/http/shop/tools/"+tool, bytes.NewReader(arguments))
	if tool == "ticket.search" || tool == "pay.get" {
		var query map[string]string
		if err := json.Unmarshal(arguments, &query); err != nil {
			return nil, err
		}
		values := url.Values{}
		for name, value := range query {
			values.Set(name, value)
		}
		req, err = http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/http/shop/tools/"+tool+"?"+values.Encode(), nil)
	}
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", `"`+key+`"`)
	}
	for name, value := range facts {
		req.Header.Set("Deed-Meta-"+name, value)
	}
	resp, answer, err := exchange(s.client, req)
	if err != nil {
		return nil, err
	}
	return fromProxy(resp, answer)
}

func fromProxy(resp *http.Response, answer []byte) (json.RawMessage, error) {
	h := resp.Header
	result := object{"content": []object{{"type": "text", "text": string(answer)}}}
	var body struct {
		ID      string
		Detail  string
		Receipt json.RawMessage
	}
	if json.Unmarshal(answer, &body) == nil {
		result["structuredContent"] = json.RawMessage(answer)
	}
	if resp.StatusCode >= 300 {
		result["isError"] = true
		if after := h.Get("Retry-After"); after != "" || h.Get("Deed-Reason") == "not_sent" {
			seconds := 1.0
			_, _ = fmt.Sscan(after, &seconds)
			result["content"] = []object{{"type": "text", "text": toRepeat(seconds)}}
		}
	}
	if decision := h.Get("Deed-Decision"); decision != "" && (decision != "execute" || h.Get("Deed-Operation") != "") {
		op := caller.Operation{
			ID: h.Get("Deed-Operation"), Status: h.Get("Deed-Status"), Decision: decision, Reason: h.Get("Deed-Reason"),
			Replayed: h.Get("Idempotent-Replayed") == "true", Receipt: body.Receipt,
		}
		if similar := h.Get("Deed-Similar-To"); similar != "" {
			op.SimilarTo = json.RawMessage(strconv.Quote(similar))
		}
		if op.Receipt == nil && body.ID != "" {
			op.Receipt = raw(object{"remote_id": body.ID, "committed_at": h.Get("Deed-Committed-At")})
		}
		result["_meta"] = object{"deed/operation": op}
	}
	return json.Marshal(result)
}
