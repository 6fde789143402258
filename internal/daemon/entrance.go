// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/deed-run/deed/api"
)

// entrance lets every request in until it is closed, and from then on only what
// begins nothing: settlements and renewals of claims, what providers confirm, and
// looks.
type entrance struct {
	next   http.Handler
	closed atomic.Bool
}

func (e *entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !e.closed.Load() || beginsNothing(r) {
		e.next.ServeHTTP(w, r)
		return
	}
	body, _ := json.Marshal(api.Problem{
		Type: api.ProblemPage + "#" + api.TypeNoAnswer, Title: "The gateway is stopping", Status: http.StatusServiceUnavailable,
		Detail: "nothing was sent by this request; repeat it under the same key, here in a moment or at another gateway",
	})
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Connection", "close") // another gateway may be behind the address
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(body)
}

func beginsNothing(r *http.Request) bool {
	under := func(prefix string) bool { return strings.HasPrefix(r.URL.Path, prefix) }
	switch {
	case under("/v1/claims/"), under("/confirmations/"):
		return true
	case under("/mcp/"), under("/http/"):
		return false
	}
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}
