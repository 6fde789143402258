// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// stored is an answer as it is kept: status, header and body.
type stored struct {
	status int
	header http.Header
	body   []byte
}

// hopByHop are headers of one connection (RFC 9110 section 7.6.1).
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// endToEnd copies a header without what belongs to one connection.
func endToEnd(h http.Header) http.Header {
	out := h.Clone()
	if out == nil {
		out = http.Header{}
	}
	for _, line := range h.Values("Connection") {
		for name := range strings.SplitSeq(line, ",") {
			out.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		out.Del(name)
	}
	return out
}

// kept is what of a header is kept: a cookie is the first caller's own, and the
// date, the age and the length are made anew.
func kept(h http.Header) http.Header {
	out := endToEnd(h)
	for _, name := range []string{"Set-Cookie", "Date", "Age", "Content-Length", "Retry-After"} {
		out.Del(name)
	}
	for name := range out {
		if strings.HasPrefix(name, "Deed-") || name == headerReplayed {
			delete(out, name)
		}
	}
	return out
}

// messageStart begins an answer kept as an HTTP message (RFC 9112 section 2.1).
const messageStart = "HTTP/1.1 "

// encode writes an answer down. Routes of their own keep an HTTP message; the
// answer of a route that is a tool of other transports is kept as a tool result,
// which their callers can read.
func (s stored) encode(asTool bool, isError bool) []byte {
	if asTool {
		return s.asToolResult(isError)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%03d %s\r\n", messageStart, s.status, http.StatusText(s.status))
	_ = s.header.Write(&b)
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n", len(s.body))
	b.Write(s.body)
	return b.Bytes()
}

// metaHTTP is where a tool result keeps what only HTTP knows of an answer.
const metaHTTP = "deed/http"

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type httpPart struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	// Body is set where the text cannot hold it.
	Body *string `json:"body,omitempty"`
}

type toolResult struct {
	Content    []content           `json:"content"`
	Structured json.RawMessage     `json:"structuredContent,omitempty"`
	IsError    bool                `json:"isError,omitempty"`
	Meta       map[string]httpPart `json:"_meta,omitempty"`
}

func (s stored) asToolResult(isError bool) []byte {
	part := httpPart{Status: s.status, Header: s.header}
	result := toolResult{IsError: isError, Content: []content{{"text", string(s.body)}}}
	if !utf8.Valid(s.body) {
		encoded := base64.StdEncoding.EncodeToString(s.body)
		part.Body = &encoded
		result.Content[0].Text = fmt.Sprintf("%d bytes of %s", len(s.body), s.header.Get("Content-Type"))
	} else if trimmed := bytes.TrimSpace(s.body); bytes.HasPrefix(trimmed, []byte("{")) && json.Valid(trimmed) {
		result.Structured = trimmed
	}
	result.Meta = map[string]httpPart{metaHTTP: part}
	var doc bytes.Buffer
	encoder := json.NewEncoder(&doc)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(result)
	return bytes.TrimSuffix(doc.Bytes(), []byte("\n"))
}

// decode reads a kept answer, also one that another transport left; false for what
// is neither.
func decode(doc []byte) (stored, bool) {
	if bytes.HasPrefix(doc, []byte(messageStart)) {
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(doc)), nil)
		if err != nil {
			return stored{}, false
		}
		defer func() { _ = resp.Body.Close() }()
		if !bodyAllowed(resp.StatusCode) {
			return stored{resp.StatusCode, kept(resp.Header), nil}, true
		}
		body, err := io.ReadAll(resp.Body)
		return stored{resp.StatusCode, kept(resp.Header), body}, err == nil
	}
	var result toolResult
	if err := json.Unmarshal(doc, &result); err != nil {
		return stored{}, false
	}
	part, ours := result.Meta[metaHTTP]
	switch {
	case !ours:
		return foreign(doc, result), true
	case part.Body != nil:
		body, err := base64.StdEncoding.DecodeString(*part.Body)
		return stored{part.Status, part.Header, body}, err == nil
	case len(result.Content) == 1:
		return stored{part.Status, part.Header, []byte(result.Content[0].Text)}, true
	}
	return stored{}, false
}

// foreign is the answer of a tool that was called over another transport.
func foreign(doc []byte, result toolResult) stored {
	s := stored{http.StatusOK, http.Header{"Content-Type": {typeJSON}}, doc}
	if len(result.Structured) > 0 {
		s.body = result.Structured
	}
	if result.IsError {
		s.status = http.StatusUnprocessableEntity
	}
	return s
}

// bodyAllowed reports whether an answer with the status has a body (RFC 9110
// section 6.4.1).
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// write sends an answer whole. The header is that of w, over which the answer's
// is laid.
func (s stored) write(w http.ResponseWriter) error {
	for name, values := range s.header {
		w.Header()[name] = slices.Clone(values)
	}
	if bodyAllowed(s.status) {
		w.Header().Set("Content-Length", strconv.Itoa(len(s.body)))
	}
	w.WriteHeader(s.status)
	if bodyAllowed(s.status) {
		if _, err := w.Write(s.body); err != nil {
			return err
		}
	}
	return flush(w)
}
