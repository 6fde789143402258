// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Host is the host of host:port, of a Host header (RFC 9110 section 7.2) and of
// an address as net/http gives it: without port and without the brackets of an
// IPv6 address. It is "", which names nothing, where the text is not made as RFC
// 3986 section 3.2 says: a port that is no number, brackets around anything but
// an IPv6 address, an IPv6 address without them.
func Host(address string) string {
	host, port, hasPort := address, "", false
	if inner, ok := strings.CutPrefix(address, "["); ok {
		var closed bool
		if host, port, closed = strings.Cut(inner, "]"); !closed || !strings.Contains(host, ":") {
			return ""
		}
		if port != "" {
			if port, hasPort = strings.CutPrefix(port, ":"); !hasPort {
				return ""
			}
		}
	} else if host, port, hasPort = strings.Cut(address, ":"); strings.ContainsAny(host, "[]") {
		return ""
	}
	if !hasPort || port == "" {
		return host
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return ""
	}
	return host
}

// Is reports whether a host, as [Host] gives it, is this machine whatever a
// resolver of names says: localhost, or an address of 127.0.0.0/8 or ::1. Not so
// names that end in a dot or in .localhost, addresses with a zone, and numbers
// that only some resolvers take for addresses, such as 127.1.
func Is(host string) bool {
	ip := net.ParseIP(host)
	return same(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Named reports whether the Host header of a request names this machine or is
// one of hosts, which have no ports. A browser that was led here under another
// name (DNS rebinding) sends that name.
func Named(r *http.Request, hosts []string) bool {
	host := Host(r.Host)
	return Is(host) || OneOf(host, hosts)
}

// OneOf reports whether a host is one of hosts. Case does not count, in ASCII: no
// letter beyond it is taken for one of ASCII.
func OneOf(host string, hosts []string) bool {
	for _, own := range hosts {
		if host != "" && same(own, host) {
			return true
		}
	}
	return false
}

// Foreign reports whether a request came to an address of the loopback interface
// under a name that is neither of this machine nor one of hosts. What came to
// another address is never foreign: there, callers must say who they are.
func Foreign(r *http.Request, hosts []string) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return local != nil && here(local) && !Named(r, hosts)
}

// here leaves zones aside: whichever it has, the address is of this machine.
func here(local net.Addr) bool {
	host, _, _ := strings.Cut(Host(local.String()), "%")
	return Is(host)
}

func same(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
