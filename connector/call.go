// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/canon"
	"github.com/deed-run/deed/outcome"
)

// userAgent names the sender where the description does not.
const userAgent = "deed"

// Call runs one tool or look-up once. What is sent is made of arguments, the snapshot, and of the grant's provider key alone, and only while
// grant.MaySend permits. A tool that changes something is never sent a second time by anything below, and its redirects are not followed.
// The Result of the outcome is an MCP CallToolResult.
//
// An answer that a duplicate rule is about proves nothing by itself, because somebody else may have made the thing that "already exists": the
// tool's look-up is asked, and the outcome is a success only if exactly one thing there carries the mark of this operation; else it is unknown.
func (c *Connector) Call(ctx context.Context, name string, grant *deed.Grant, args []byte) deed.Outcome {
	if t := c.tool(name); t != nil {
		return c.run(ctx, t, grant, args)
	}
	if l := c.lookup(name); l != nil {
		return c.read(ctx, l, args)
	}
	return refused(nil, "there is no tool "+name)
}

func (c *Connector) tool(name string) *tool {
	for _, t := range c.tools {
		if t.name == name {
			return t
		}
	}
	return nil
}

func (c *Connector) lookup(name string) *lookup {
	for _, l := range c.lookups {
		if l.name == name {
			return l
		}
	}
	return nil
}

func (c *Connector) run(ctx context.Context, t *tool, grant *deed.Grant, args []byte) deed.Outcome {
	if err := canon.Strict(args); err != nil {
		return refused(err, "the arguments are no JSON that can be sent")
	}
	key := ""
	if t.request.key.declared() {
		if key = grant.ProviderKey; key == "" && grant.Operation != "" {
			key = t.request.key.mint(string(grant.Operation))
		}
		if err := t.request.key.fits(key); err != nil {
			return refused(err, "nothing was sent")
		}
	}
	b, err := t.request.build(args, key)
	if err != nil {
		return refused(err, "nothing was sent")
	}
	trace := &outcome.Trace{}
	if t.effect != deed.EffectReadOnly {
		trace.May = grant.MaySend
		if !grant.Unrecorded {
			trace.Left = grant.TimeToSend
		}
	}
	got, lost := c.exchange(ctx, trace, b)
	if lost != nil {
		return *lost
	}
	out, duplicate := t.classify(got, args)
	if duplicate {
		return c.resolve(ctx, t, out, grant.Marks, args)
	}
	return out
}

// refused is an answer of our own: the provider was not asked, and would not be for these arguments.
func refused(err error, text string) deed.Outcome {
	if err != nil {
		text += ": " + err.Error()
	}
	return deed.Outcome{
		Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, Final: true, Message: text,
		Result: result(text, nil, true), ResultIsError: true,
	}
}

// exchange sends one request and reads the whole answer. The outcome is set where there was none.
func (c *Connector) exchange(ctx context.Context, trace *outcome.Trace, b built) (answer, *deed.Outcome) {
	req, err := trace.Request(ctx, b.method, c.base.Scheme+"://"+c.base.Host+c.base.EscapedPath()+b.target, b.body)
	if err != nil {
		out := outcome.Lost(true, c.address.Hide(err).Error())
		return answer{}, &out
	}
	defer trace.Close()
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "application/json")
	for _, h := range []http.Header{c.header, b.header} {
		for name, values := range h {
			req.Header[name] = values
		}
	}
	// A transport sends one request and follows nothing; a Client would.
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		out := c.lost(trace, b, err)
		return answer{}, &out
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.maxBody+1))
	if err == nil && int64(len(body)) > c.maxBody {
		err = fmt.Errorf("%w: more than %d bytes", outcome.ErrTooLarge, c.maxBody)
	}
	got := answer{status: resp.StatusCode, header: resp.Header, body: body, json: len(body) > 0 && json.Valid(body)}
	if err == nil && isSuccess(got.status) && !got.json && len(body) > 0 && claimsJSON(resp.Header) {
		err = outcome.ErrNotJSON
	}
	if err != nil {
		out := c.lost(trace, b, fmt.Errorf("HTTP %d: %w", resp.StatusCode, err))
		return answer{}, &out
	}
	return got, nil
}

// lost names the request without its query, which may hold secrets, and the host as it was written.
func (c *Connector) lost(trace *outcome.Trace, b built, err error) deed.Outcome {
	path, _, _ := strings.Cut(b.target, "?")
	return trace.Lost(c.address.Hide(fmt.Errorf("%s %s%s: %w", b.method, c.base.Host, path, err)))
}

func isSuccess(status int) bool { return status >= 200 && status < 300 }

func claimsJSON(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}
