// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"net/http"
	"slices"
	"strings"
)

// changesRequest: frameworks take these for the request itself, and the route was
// found by method and path.
func changesRequest(name string) bool {
	switch hyphenated(name) {
	case "X-Http-Method-Override", "X-Http-Method", "X-Method-Override", "X-Original-Url", "X-Rewrite-Url", "X-Original-Method":
		return true
	}
	return false
}

// hyphenated is the header that servers take a name for when they hand it on as a
// variable, in which a hyphen is an underscore (RFC 3875 section 4.1.18).
func hyphenated(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	return http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
}

// dropTwins takes out of a header what such a server would take for one of names.
func dropTwins(h http.Header, names ...string) {
	for name := range h {
		if strings.Contains(name, "_") && slices.Contains(names, hyphenated(name)) {
			delete(h, name)
		}
	}
}

// handKeysOn gives the upstream the caller's own keys: where nothing is guarded, an
// API that honours them is all that keeps an effect from happening twice.
func handKeysOn(out, in http.Header) {
	for name, values := range in {
		if carriesKey(name) && out.Values(name) == nil {
			out[name] = slices.Clone(values)
		}
	}
}
