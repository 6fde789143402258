// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// ErrMessage marks bytes that are not one JSON-RPC 2.0 message. Batches are refused too: MCP removed them in 2025-06-18, and a batch could
// carry a tools/call past the guard.
var ErrMessage = errors.New("not a JSON-RPC message")

// Message is one JSON-RPC message: the envelope is read, everything else stays raw. All members alias Raw. A Message is never changed in
// place; the With methods return edited copies.
type Message struct {
	Raw    []byte
	ID     json.RawMessage // nil for a notification
	Method string          // empty for a reply
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// ParseMessage reads the envelope of raw. A member that stands twice, or that differs from an envelope member only by case, is refused:
// two readers could see two different messages.
func ParseMessage(raw []byte) (Message, error) {
	raw = bytes.TrimSpace(raw)
	m := Message{Raw: raw}
	members, err := rawjson.Members(raw)
	if err != nil {
		return m, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	seen := make([]string, 0, 6)
	for _, member := range members {
		value := member.Value(raw)
		for _, s := range seen {
			if strings.EqualFold(s, member.Name) {
				return m, fmt.Errorf("%w: member %q stands twice", ErrMessage, member.Name)
			}
		}
		switch member.Name {
		case "jsonrpc":
			if v, ok := rawjson.String(value); !ok || v != "2.0" {
				return m, fmt.Errorf("%w: member jsonrpc is not \"2.0\"", ErrMessage)
			}
		case "id":
			if c := value[0]; c != '"' && c != '-' && (c < '0' || c > '9') && string(value) != "null" {
				return m, fmt.Errorf("%w: the id is neither text nor number", ErrMessage)
			}
			m.ID = value
		case "method":
			method, ok := rawjson.String(value)
			if !ok || method == "" {
				return m, fmt.Errorf("%w: the method is not text", ErrMessage)
			}
			m.Method = method
		case "params":
			m.Params = value
		case "result":
			m.Result = value
		case "error":
			m.Error = value
		default:
			for _, name := range [...]string{"jsonrpc", "id", "method", "params", "result", "error"} {
				if strings.EqualFold(name, member.Name) {
					return m, fmt.Errorf("%w: member %q looks like %q", ErrMessage, member.Name, name)
				}
			}
		}
		seen = append(seen, member.Name)
	}
	m.dropNulls()
	return m, m.shape(seen)
}

// dropNulls takes "error": null beside a result, and "result": null beside an
// error, for absent: that is how some libraries write a reply, and an answer
// that was lost over it would be an effect that nobody knows of.
func (m *Message) dropNulls() {
	if m.Method != "" || m.Result == nil || m.Error == nil {
		return
	}
	switch {
	case string(m.Error) == "null":
		m.Error = nil
	case string(m.Result) == "null":
		m.Result = nil
	}
}

func (m Message) shape(seen []string) error {
	version := false
	for _, s := range seen {
		version = version || s == "jsonrpc"
	}
	switch {
	case !version:
		return fmt.Errorf("%w: member jsonrpc is missing", ErrMessage)
	case m.Method != "" && (m.Result != nil || m.Error != nil):
		return fmt.Errorf("%w: it is a request and a reply at once", ErrMessage)
	case m.Method == "" && (m.Result == nil) == (m.Error == nil):
		return fmt.Errorf("%w: it has no method, and not exactly one of result and error", ErrMessage)
	case m.Method == "" && m.ID == nil:
		return fmt.Errorf("%w: a reply without id", ErrMessage)
	}
	return nil
}

// IsRequest reports whether the sender waits for a reply.
func (m Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether the message wants no reply.
func (m Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// IsReply reports whether the message answers a request.
func (m Message) IsReply() bool { return m.Method == "" && m.ID != nil }

// Key is the id in a form to compare by: the text of a string or number, told apart by their first byte.
func (m Message) Key() string {
	if s, ok := rawjson.String(m.ID); ok {
		return `"` + s
	}
	return string(m.ID)
}

// With returns a copy with one top-level member replaced or added, all other bytes kept.
func (m Message) With(member string, value json.RawMessage) (Message, error) {
	raw, err := rawjson.Set(m.Raw, value, member)
	if err != nil {
		return m, err
	}
	return ParseMessage(raw)
}

// ResultMessage makes a successful reply to the request with this id.
func ResultMessage(id, result json.RawMessage) Message {
	raw := make([]byte, 0, len(id)+len(result)+32)
	raw = append(raw, `{"jsonrpc":"2.0","id":`...)
	raw = append(raw, id...)
	raw = append(raw, `,"result":`...)
	start := len(raw)
	raw = append(raw, result...)
	end := len(raw)
	raw = append(raw, '}')
	return Message{Raw: raw, ID: id, Result: raw[start:end]}
}

// ErrorMessage makes a failed reply. A request whose id could not be read is answered with id null.
func ErrorMessage(id json.RawMessage, code int, text string) Message {
	if id == nil {
		id = json.RawMessage("null")
	}
	body := json.RawMessage(fmt.Sprintf(`{"code":%d,"message":%s}`, code, rawjson.Quote(text)))
	raw := []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, id, body))
	return Message{Raw: raw, ID: id, Error: body}
}

// RequestMessage makes a request of the gateway's own; a nil id makes a notification, nil params leaves them out.
func RequestMessage(id json.RawMessage, method string, params json.RawMessage) Message {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0"`)
	if id != nil {
		b.WriteString(`,"id":`)
		b.Write(id)
	}
	b.WriteString(`,"method":`)
	b.Write(rawjson.Quote(method))
	if params != nil {
		b.WriteString(`,"params":`)
		b.Write(params)
	}
	b.WriteByte('}')
	return Message{Raw: b.Bytes(), ID: id, Method: method, Params: params}
}

// Codes of JSON-RPC 2.0 section 5.1 and of MCP 2026-07-28 that the gateway answers with itself.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeHeaderMismatch = -32020
)
