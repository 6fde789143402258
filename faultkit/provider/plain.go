// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"io"
	"net/http"
)

// Handler serves the tools: MCP at /mcp, plain HTTP at POST /tools/{tool}, and
// look-ups also as GET /tools/{tool}?name=value.
func (p *Provider) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", p.serveMCP)
	mux.HandleFunc("POST /tools/{tool}", p.servePlain)
	mux.HandleFunc("GET /tools/{tool}", p.servePlainRead)
	return mux
}

func (p *Provider) servePlain(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "request body: "+err.Error(), http.StatusBadRequest)
		return
	}
	p.plain(w, r, body)
}

func (p *Provider) servePlainRead(w http.ResponseWriter, r *http.Request) {
	tool, ok := findTool(r.PathValue("tool"))
	if !ok || !tool.ReadOnly {
		http.Error(w, "no look-up of that name", http.StatusNotFound)
		return
	}
	args := map[string]string{}
	for name, values := range r.URL.Query() {
		args[name] = values[0]
	}
	p.plain(w, r, line(args))
}

func (p *Provider) plain(w http.ResponseWriter, r *http.Request, body []byte) {
	if _, ok := findTool(r.PathValue("tool")); !ok {
		http.Error(w, "no such tool", http.StatusNotFound)
		return
	}
	reply := p.Call(r.Context(), Call{
		Tool: r.PathValue("tool"), Arguments: json.RawMessage(body), Transport: "http", Key: r.Header.Get("Idempotency-Key"),
	})
	p.deliver(w, plainAnswer(reply), false)
}

// plainAnswer puts a reply into the words of a JSON API without a protocol.
func plainAnswer(r Reply) Answer {
	a := Answer{Delivery: r.Delivery, Status: r.Status, RetryAfter: r.RetryAfter, Line: line(r.Structured)}
	switch {
	case r.Question != "" || r.Handle != nil:
		a.Status, a.Line = http.StatusBadRequest, line(refusal("this fault needs MCP"))
	case r.Error != nil && r.Error.Code == -32602:
		a.Status, a.Line = http.StatusUnprocessableEntity, line(map[string]any{"error": r.Error.Message})
	case r.Error != nil:
		a.Status = http.StatusInternalServerError
	case r.IsError:
		a.Status = http.StatusConflict
	}
	return a
}
