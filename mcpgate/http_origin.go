// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"net/http"
	"net/url"

	"github.com/deed-run/deed/internal/loopback"
)

// foreign says why a browser page of another origin, or a name that points at this machine (DNS rebinding), may not be answered; MCP
// transports, security warning.
func (h *Handler) foreign(r *http.Request) string {
	if loopback.Foreign(r, h.Hosts) {
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
	if u.Host == r.Host || loopback.Is(u.Hostname()) && loopback.Is(loopback.Host(r.Host)) || loopback.OneOf(u.Hostname(), h.Hosts) {
		return ""
	}
	return "the Origin is not allowed"
}
