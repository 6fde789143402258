// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/keyheader"
)

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// carriesKey reports whether clients send a key under a name, in whatever spelling.
// None of them goes on to an upstream while the gate guards, so that each names the
// operation here.
func carriesKey(name string) bool {
	name = hyphenated(name)
	return name == keyheader.Name || name == "X-Idempotency-Key"
}

// namesOperation reports whether a request brings a key in a header.
func namesOperation(h http.Header) bool {
	for name := range h {
		if carriesKey(name) {
			return true
		}
	}
	return false
}

// carriers are the identities that a request brings: header, and body where the
// profile has a member for it. wrong says what is the matter with their shape.
func (r *Route) carriers(x *reading) (list []deed.Carrier, wrong string) {
	add := func(key, name string) {
		if r.speaks.uuidKeys && !uuid.MatchString(key) {
			wrong = name + " is no UUID"
		}
		carrier := deed.Carrier{Provenance: deed.ProvenanceRuntime, Identity: deed.OperationKey(r.scoped(key, x.Method, canonicalPath(x.URL))), Name: name}
		// Up to version 0.1.0 each spelling of a path had operations of its own.
		if before := deed.OperationKey(r.scoped(key, x.Method, x.URL.EscapedPath())); before != carrier.Identity {
			carrier.Before = []deed.Identity{before}
		}
		list = append(list, carrier)
	}
	for _, header := range slices.Sorted(maps.Keys(x.Header)) {
		if !carriesKey(header) || hyphenated(header) != keyheader.Name && r.heedsOnly(x.Header) {
			continue
		}
		keys, problem := keyheader.Keys(http.Header{keyheader.Name: x.Header[header]})
		if problem != "" {
			return nil, problem
		}
		for _, key := range keys {
			add(key, "the header "+header)
		}
	}
	if x.bodyKey != nil {
		name := r.speaks.bodyKey + " in the body"
		key, problem := keyheader.Member(x.bodyKey)
		if problem != "" {
			return nil, name + ": " + problem
		}
		add(key, name)
	}
	return list, wrong
}

// heedsOnly reports whether X-Idempotency-Key names nothing: beside the header that
// has the registered name, and where requests without that header are told apart
// by what is in them.
func (r *Route) heedsOnly(h http.Header) bool {
	for name := range h {
		if hyphenated(name) == keyheader.Name {
			return true
		}
	}
	return len(r.Key.From) > 0 || r.Twins > 0
}

// longestScoped leaves room for a mark within the 255 characters of a key.
const longestScoped = 255 - 33

// scoped puts the path into the text of a key where the profile names operations
// by both.
func (r *Route) scoped(key, method, path string) string {
	if !r.speaks.byPath || key == "" || len(key) > 255 {
		return key
	}
	sum := sha256.Sum256([]byte(method + " " + r.name + path))
	if len(key) > longestScoped {
		whole := sha256.Sum256([]byte(key))
		key = hex.EncodeToString(whole[:])
	}
	return key + "@" + hex.EncodeToString(sum[:16])
}

// canonicalPath spells a path in one way, whatever its client encoded that it need
// not (RFC 3986 section 6.2.2); an encoded slash stays one.
func canonicalPath(at *url.URL) string {
	segments, ok := splitPath(at.EscapedPath())
	if !ok {
		return at.EscapedPath()
	}
	return canonical(segments)
}

// canonical spells segments: no two lists are spelt alike.
func canonical(segments []string) string {
	var b strings.Builder
	for _, segment := range segments {
		for i, part := range strings.Split(segment, "/") {
			if i > 0 {
				b.WriteString("%2F")
			} else {
				b.WriteByte('/')
			}
			b.WriteString((&url.URL{Path: "/" + part}).EscapedPath()[1:])
		}
	}
	return b.String()
}
