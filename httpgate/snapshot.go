// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/deed-run/deed/internal/canon"
)

// snapshot is a request as its arguments froze it.
type snapshot struct {
	method string
	target string // path and query as they were spelt
	kind   string // Content-Type; "" where there is no body
	coding string // Content-Encoding
	header http.Header
	own    []string // names of headers that belong to the effect, also of those that are not there
	body   []byte
}

// snapshot reads frozen arguments back into the request that they are.
func (r *Route) snapshot(arguments []byte) (snapshot, error) {
	if r.As != "" {
		return r.toolSnapshot(arguments)
	}
	var doc struct {
		Method   string                     `json:"method"`
		Target   string                     `json:"target"`
		Type     string                     `json:"type"`
		Encoding string                     `json:"encoding"`
		Headers  map[string]json.RawMessage `json:"headers"`
		Base64   *string                    `json:"raw"`
		Body     json.RawMessage            `json:"body"`
	}
	if err := json.Unmarshal(arguments, &doc); err != nil {
		return snapshot{}, fmt.Errorf("the snapshot cannot be read: %w", err)
	}
	s := snapshot{method: doc.Method, target: doc.Target, kind: doc.Type, coding: doc.Encoding, header: http.Header{}, own: r.Headers}
	for name, raw := range doc.Headers {
		var one string
		var many []string
		if json.Unmarshal(raw, &one) == nil {
			many = []string{one}
		} else if err := json.Unmarshal(raw, &many); err != nil {
			return snapshot{}, fmt.Errorf("the snapshot's header %s: %w", name, err)
		}
		s.header[http.CanonicalHeaderKey(name)] = many
	}
	switch {
	case doc.Base64 != nil:
		raw, err := base64.StdEncoding.DecodeString(*doc.Base64)
		if err != nil {
			return snapshot{}, fmt.Errorf("the snapshot's body: %w", err)
		}
		s.body = raw
	case doc.Body != nil:
		s.body = lastMember(arguments)
		if s.kind == "" {
			s.kind = typeJSON
		}
	}
	return s, nil
}

// lastMember returns the body of arguments with the white space around it, which
// some callers sign.
func lastMember(arguments []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(arguments))
	_, _ = d.Token()
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		if name == "body" {
			return arguments[d.InputOffset()+1 : len(arguments)-1]
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return nil
		}
	}
	return nil
}

// toolSnapshot takes the values of path and query out of the arguments again.
func (r *Route) toolSnapshot(arguments []byte) (snapshot, error) {
	s := snapshot{method: r.Method, header: http.Header{}}
	body := arguments
	take := func(name string) (string, bool, error) {
		rest, raw, found, err := canon.Without(body, name)
		if err != nil || !found {
			return "", false, err
		}
		body = rest
		var text string
		if json.Unmarshal(raw, &text) != nil {
			// A number that came over another transport is spelt as it was.
			text = string(raw)
		}
		return text, true, nil
	}
	for _, segment := range r.segments {
		s.target += "/"
		if segment.name == "" {
			s.target += (&url.URL{Path: segment.literal}).EscapedPath()
			continue
		}
		text, found, err := take(segment.name)
		if err != nil || !found || text == "" || text == "." || text == ".." {
			return snapshot{}, fmt.Errorf("the snapshot has no value for %q of the path", segment.name)
		}
		s.target += url.PathEscape(text)
	}
	query := url.Values{}
	for _, name := range r.Query {
		text, found, err := take(name)
		if err != nil {
			return snapshot{}, err
		}
		if found {
			query.Set(name, text)
		}
	}
	if len(query) > 0 {
		s.target += "?" + query.Encode()
	}
	if slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, r.Method) || strings.Trim(string(body), "{} \t\r\n") != "" {
		s.kind, s.body = typeJSON, body
	}
	return s, nil
}
