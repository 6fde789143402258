// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"net/http"

	"github.com/deed-run/deed/internal/loopback"
)

// foreign says why a browser page of another origin, or a name that points at this machine (DNS rebinding), may not be answered; MCP
// transports, security warning.
func (h *Handler) foreign(r *http.Request) string { return loopback.Stranger(r, h.Hosts) }
