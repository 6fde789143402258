// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// Headers of Streamable HTTP.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerResume  = "Last-Event-Id"
)

const (
	versionMeta = "io.modelcontextprotocol/protocolVersion"
	// stateless is the first version without sessions; versions are dates and compare as text.
	stateless = "2026-07-28"
)

// modernVersion returns the protocol version of a stateless request, or "".
func modernVersion(m Message, h http.Header) string {
	if version, ok := rawjson.Text(m.Params, "_meta", versionMeta); ok && version >= stateless {
		return version
	}
	if version := h.Get(headerVersion); version >= stateless {
		return version
	}
	return ""
}

// headers sets what MCP wants on a request. Of the client's headers only MCP's own and trace headers are passed on: never credentials,
// cookies, or an Idempotency-Key, which would make net/http repeat a POST.
func (l *httpLink) headers(req *http.Request, from http.Header, m Message) {
	for name, values := range from {
		if name == headerMethod || name == headerName || strings.HasPrefix(name, paramHeader) ||
			name == "Traceparent" || name == "Tracestate" || name == "Baggage" || name == headerResume {
			req.Header[name] = slices.Clone(values)
		}
	}
	l.mu.Lock()
	session, version := l.session, l.version
	l.mu.Unlock()
	modern := modernVersion(m, from)
	switch {
	case from.Get(headerVersion) != "":
		req.Header.Set(headerVersion, from.Get(headerVersion))
	case modern != "":
		req.Header.Set(headerVersion, modern)
	case version != "" && m.Method != "initialize":
		req.Header.Set(headerVersion, version)
	}
	if modern == "" && session != "" && m.Method != "initialize" {
		req.Header.Set(headerSession, session)
	}
	if modern != "" && from.Get(headerMethod) == "" && from.Get(headerVersion) == "" && m.Method != "" {
		req.Header.Set(headerMethod, m.Method)
		if name := nameOf(m); name != "" {
			req.Header.Set(headerName, headerText(name))
		}
	}
	for name, values := range l.remote.Header {
		req.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
}

// nameOf is the value of Mcp-Name.
func nameOf(m Message) string {
	var member string
	switch m.Method {
	case "tools/call", "prompts/get":
		member = "name"
	case "resources/read":
		member = "uri"
	default:
		return ""
	}
	name, _ := rawjson.Text(m.Params, member)
	return name
}

// headerText encodes a value that is not plain visible ASCII as MCP 2026-07-28 wants it.
func headerText(value string) string {
	plain := value == strings.TrimSpace(value)
	for _, c := range []byte(value) {
		plain = plain && c >= 0x20 && c < 0x7f
	}
	if plain && !strings.HasPrefix(value, "=?base64?") {
		return value
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}

func fromHeaderText(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, true
	}
	inner, ok = strings.CutSuffix(inner, "?=")
	if !ok {
		return value, true
	}
	decoded, err := base64.StdEncoding.DecodeString(inner)
	return string(decoded), err == nil
}

// mirrored lists the Mcp-Param headers that a tool's schema asks for and their values in these arguments, "" where an argument is absent.
func mirrored(schema, arguments json.RawMessage) map[string]string {
	properties, ok := rawjson.Get(schema, "properties")
	if !ok {
		return nil
	}
	members, err := rawjson.Members(properties)
	if err != nil {
		return nil
	}
	var found map[string]string
	for _, member := range members {
		property := member.Value(properties)
		value, _ := rawjson.Get(arguments, member.Name)
		if name, ok := rawjson.Text(property, "x-mcp-header"); ok && name != "" {
			if found == nil {
				found = map[string]string{}
			}
			found[http.CanonicalHeaderKey(paramHeader+name)] = scalar(value)
		}
		for name, text := range mirrored(property, value) {
			if found == nil {
				found = map[string]string{}
			}
			found[name] = text
		}
	}
	return found
}

func scalar(value json.RawMessage) string {
	if text, ok := rawjson.String(value); ok {
		return text
	}
	if len(value) == 0 || value[0] == '{' || value[0] == '[' || string(value) == "null" {
		return ""
	}
	return string(value)
}

// mirror returns the headers with Mcp-Param rewritten for what is really sent.
func mirror(h http.Header, schema, arguments json.RawMessage) http.Header {
	want := mirrored(schema, arguments)
	if want == nil {
		return h
	}
	out := http.Header{}
	for name, values := range h {
		if !strings.HasPrefix(name, paramHeader) {
			out[name] = values
		}
	}
	for name, text := range want {
		if text != "" {
			out.Set(name, headerText(text))
		}
	}
	return out
}

// headerMismatch says how the headers of a stateless request speak of another call than its body, or "". Two readers would see two calls.
func headerMismatch(m Message, h http.Header, schema json.RawMessage) string {
	if h == nil || h.Get(headerVersion) < stateless {
		return ""
	}
	if h.Get(headerMethod) != m.Method {
		return "Mcp-Method is not the method of the body"
	}
	if name, ok := fromHeaderText(h.Get(headerName)); !ok || name != nameOf(m) {
		return "Mcp-Name is not the name in the body"
	}
	arguments, _ := rawjson.Get(m.Params, "arguments")
	for name, text := range mirrored(schema, arguments) {
		if got, ok := fromHeaderText(h.Get(name)); !ok || got != text {
			return name + " is not the value in the body"
		}
	}
	return ""
}
