// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// shop is a provider of things and of one letter that is edited, as a plain HTTP
// API and as an MCP server.
type shop struct {
	*httptest.Server
	mu       sync.Mutex
	things   map[string]string
	made     int
	revision string
	// sent are the revisions of the letter that went out.
	sent []string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{things: map[string]string{}, revision: "r1"}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, does func() (any, bool)) {
		s.mu.Lock()
		body, there := does()
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if !there {
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(body)
	}
	mux.HandleFunc("POST /things", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		answer(w, func() (any, bool) { return s.do("make", in) })
	})
	mux.HandleFunc("GET /things/{id}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, func() (any, bool) { return s.do("get", map[string]any{"id": r.PathValue("id")}) })
	})
	mux.HandleFunc("GET /letter", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, func() (any, bool) { return s.do("get_letter", nil) })
	})
	mux.HandleFunc("POST /letter/sent", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, func() (any, bool) { return s.do("send_letter", nil) })
	})
	mux.HandleFunc("POST /mcp", s.mcp)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// do is what the provider does, and false when there is no such thing. The caller
// holds mu.
func (s *shop) do(tool string, in map[string]any) (any, bool) {
	switch tool {
	case "make":
		s.made++
		id := fmt.Sprintf("thing_%d", s.made)
		s.things[id], _ = in["title"].(string)
		return map[string]any{"id": id}, true
	case "get":
		id, _ := in["id"].(string)
		title, there := s.things[id]
		if !there {
			return map[string]any{"error": "there is no such thing: not found"}, false
		}
		return map[string]any{"id": id, "title": title}, true
	case "get_letter":
		return map[string]any{"revision": s.revision}, true
	case "send_letter":
		s.sent = append(s.sent, s.revision)
		return map[string]any{"id": fmt.Sprintf("letter_%d", len(s.sent))}, true
	}
	return nil, false
}

// mcp answers one message of a server that keeps no session.
func (s *shop) mcp(w http.ResponseWriter, r *http.Request) {
	var message struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name            string
			Arguments       map[string]any
			ProtocolVersion string
		}
	}
	if json.NewDecoder(r.Body).Decode(&message) != nil || message.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	var result any = map[string]any{}
	switch message.Method {
	case "initialize":
		result = map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "shop", "version": "1"},
		}
	case "tools/list":
		object := func(names ...string) map[string]any {
			properties := map[string]any{}
			for _, name := range names {
				properties[name] = map[string]any{"type": "string"}
			}
			return map[string]any{"type": "object", "properties": properties}
		}
		result = map[string]any{"tools": []any{
			map[string]any{"name": "make", "inputSchema": object("client_id", "title")},
			map[string]any{"name": "get", "inputSchema": object("id")},
			map[string]any{"name": "get_letter", "inputSchema": object()},
			map[string]any{"name": "send_letter", "inputSchema": object("to")},
		}}
	case "tools/call":
		s.mu.Lock()
		body, there := s.do(message.Params.Name, message.Params.Arguments)
		s.mu.Unlock()
		text, _ := json.Marshal(body)
		result = map[string]any{"content": []any{map[string]any{"type": "text", "text": string(text)}}, "structuredContent": body, "isError": !there}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": message.ID, "result": result})
}

// edit makes another letter of it, drop removes a thing.
func (s *shop) edit(revision string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision = revision
}

func (s *shop) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.things, id)
}

func (s *shop) count() (made int, sent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made, fmt.Sprint(s.sent)
}

// behind is a gateway's configuration in front of the shop.
func (s *shop) behind(by transport, tools map[string]any) map[string]any {
	config := map[string]any{"tools": tools}
	if by == byURL {
		config["upstreams"] = map[string]any{"shop": map[string]any{"url": s.URL + "/mcp", "account": "shop-live"}}
		return config
	}
	text := map[string]any{"type": "string"}
	config["connectors"] = map[string]any{"shop": map[string]any{"http": map[string]any{
		"base_url": s.URL, "allow_private": true, "account": "shop-live",
		"tools": map[string]any{
			"make": map[string]any{
				"method": "POST", "path": "/things", "body": "json", "receipt": map[string]any{"id": "/id", "require": true},
				"input": map[string]any{"properties": map[string]any{"client_id": text, "title": text}},
			},
			"get":        map[string]any{"method": "GET", "path": "/things/{id}", "input": map[string]any{"properties": map[string]any{"id": text}}},
			"get_letter": map[string]any{"method": "GET", "path": "/letter"},
			"send_letter": map[string]any{
				"method": "POST", "path": "/letter/sent", "body": "json", "receipt": map[string]any{"id": "/id", "require": true},
				"input": map[string]any{"properties": map[string]any{"to": text}},
			},
		},
	}}}
	return config
}
