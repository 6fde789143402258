// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// maxBody bounds a request body.
const maxBody = 8 << 20

// serveMCP is the Streamable HTTP endpoint of both eras.
func (p *Provider) serveMCP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
	case http.MethodDelete:
		p.endSession(r.Header.Get("Mcp-Session-Id"))
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		w.Header().Set("Allow", "POST, DELETE")
		http.Error(w, "this server opens no stream of its own", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "request body: "+err.Error(), http.StatusBadRequest)
		return
	}
	var m message
	_ = json.Unmarshal(body, &m)
	if modernRequest(m.Params) != "" || r.Header.Get("MCP-Protocol-Version") == modernVersion {
		if refused := headerMismatch(r.Header, m); refused != "" {
			writeJSON(w, http.StatusBadRequest, errorLine(idOf(m), &RPCError{Code: -32020, Message: refused}))
			return
		}
	} else if !p.admit(w, r, m) {
		return
	}
	if len(m.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := p.Message(r.Context(), body, "mcp", r.Header.Get("Idempotency-Key"))
	p.deliver(w, answer, p.Settings().SSE)
}

func idOf(m message) json.RawMessage {
	if len(m.ID) == 0 {
		return json.RawMessage("null")
	}
	return m.ID
}

// headerMismatch checks the headers that 2026-07-28 requires beside the body.
func headerMismatch(h http.Header, m message) string {
	if modernRequest(m.Params) != h.Get("MCP-Protocol-Version") {
		return "MCP-Protocol-Version does not match the request"
	}
	if h.Get("Mcp-Method") != m.Method {
		return "Mcp-Method does not match the request"
	}
	var named struct {
		Name string `json:"name"`
	}
	if m.Method == "tools/call" {
		_ = json.Unmarshal(m.Params, &named)
		if h.Get("Mcp-Name") != named.Name {
			return "Mcp-Name does not match the request"
		}
	}
	return ""
}

// admit does the sessions of the older era: initialize opens one, everything
// else needs a known one.
func (p *Provider) admit(w http.ResponseWriter, r *http.Request, m message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Method == "initialize" {
		p.serial++
		id := fmt.Sprintf("session_%06d", p.serial)
		p.sessions[id] = true
		w.Header().Set("Mcp-Session-Id", id)
		return true
	}
	id := r.Header.Get("Mcp-Session-Id")
	if id == "" {
		http.Error(w, "Mcp-Session-Id is missing", http.StatusBadRequest)
		return false
	}
	if !p.sessions[id] {
		http.Error(w, "session not found", http.StatusNotFound)
		return false
	}
	return true
}

func (p *Provider) endSession(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, id)
}

// deliver writes an answer over HTTP, or as much of it as the fault allows.
func (p *Provider) deliver(w http.ResponseWriter, a Answer, sse bool) {
	if a.Delivery == Dropped {
		panic(http.ErrAbortHandler)
	}
	if a.Delivery == Stray {
		a.Line, sse = []byte("<html>It works!</html>"), false
	}
	if a.Status != 0 {
		if a.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(a.RetryAfter))
		}
		if a.Status >= 500 || a.Status == 404 {
			w.WriteHeader(a.Status)
			return
		}
		writeJSON(w, a.Status, a.Line)
		return
	}
	body, kind := a.Line, "application/json"
	if sse {
		body, kind = []byte("event: message\ndata: "+string(a.Line)+"\n\n"), "text/event-stream"
		w.Header().Set("X-Accel-Buffering", "no")
	}
	w.Header().Set("Content-Type", kind)
	if a.Delivery == Half {
		writeHalf(w, body)
	}
	_, _ = w.Write(body)
}

// writeHalf sends half of a body whose length was announced, then closes.
func writeHalf(w http.ResponseWriter, body []byte) {
	if w.Header().Get("Content-Type") != "text/event-stream" {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
