// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"net/http"
	"net/url"
)

// ForeignHost says why a [Foreign] request is refused, and what to do.
const ForeignHost = "the Host header does not name this server; where a proxy sends another name, write it under console.allowed_hosts"

// Stranger says why a request is that of a browser's page which has no business
// here, "" where it is not: it came under a foreign name ([Foreign]), or a page of
// another origin made it (RFC 6454 section 7; Fetch Metadata, Sec-Fetch-Site). An
// origin is no other one whose host is that of the request, one of hosts, or this
// machine where the request came to this machine. It holds for every method: an
// answer to GET can be read where what is behind the door says so, and a GET may
// change things. Programs that are no browsers send neither header.
func Stranger(r *http.Request, hosts []string) string {
	if Foreign(r, hosts) {
		return ForeignHost
	}
	switch origin := r.Header.Get("Origin"); {
	case origin != "":
		if !ownOrigin(origin, r, hosts) {
			return "the Origin is not allowed"
		}
	case r.Header.Get("Sec-Fetch-Site") == "cross-site":
		return "a page of another site asked"
	}
	return ""
}

func ownOrigin(origin string, r *http.Request, hosts []string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	return u.Host == r.Host || Is(u.Hostname()) && Is(Host(r.Host)) || OneOf(u.Hostname(), hosts)
}
