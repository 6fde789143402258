// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"net/http"
	"strings"
)

// ours reports whether a cookie is the console's, which a browser sends to every
// path of this host: whoever holds its session approves.
func ours(cookie string) bool {
	name, _, _ := strings.Cut(strings.TrimSpace(cookie), "=")
	name = strings.ToLower(strings.TrimSpace(name))
	name = strings.TrimPrefix(strings.TrimPrefix(name, "__host-"), "__secure-")
	return strings.HasPrefix(name, "deed_")
}

// foreignCookies is a Cookie header (RFC 6265 section 5.4) without those of this
// host itself.
func foreignCookies(lines []string) []string {
	var kept []string
	for _, line := range lines {
		var pairs []string
		for pair := range strings.SplitSeq(line, ";") {
			if pair = strings.TrimSpace(pair); pair != "" && !ours(pair) {
				pairs = append(pairs, pair)
			}
		}
		if len(pairs) > 0 {
			kept = append(kept, strings.Join(pairs, "; "))
		}
	}
	return kept
}

// keepOut takes the cookies out of an API's answer that it must not set here: all,
// or those by which this host knows people.
func keepOut(h http.Header, all bool) {
	set := h.Values("Set-Cookie")
	h.Del("Set-Cookie")
	for _, cookie := range set {
		if !all && !ours(cookie) {
			h.Add("Set-Cookie", cookie)
		}
	}
}
