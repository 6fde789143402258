// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// foreign says why a browser page of another origin, or a name that points at this machine (DNS rebinding), may not be answered; MCP
// transports, security warning.
func (h *Handler) foreign(r *http.Request) string {
	host := hostOnly(r.Host)
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && isLoopback(hostOnly(local.String())) && !isLoopback(host) && !h.named(host) {
		return "the Host header does not name this server"
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return ""
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return "the Origin is not allowed"
	}
	if u.Host == r.Host || isLoopback(u.Hostname()) && isLoopback(host) || h.named(u.Hostname()) {
		return ""
	}
	return "the Origin is not allowed"
}

func (h *Handler) named(host string) bool {
	for _, name := range h.Hosts {
		if strings.EqualFold(name, host) {
			return true
		}
	}
	return false
}

func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
