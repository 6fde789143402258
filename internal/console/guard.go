// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"

	"github.com/deed-run/deed/internal/loopback"
)

// policy lets the browser load scripts, styles and pictures of this origin and
// nothing else: no inline script or style, no plug-in, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxForm is the longest form; an edited call may be as long as a call.
const maxForm = 5 << 20

// guard stands before every page: the name that was asked for (DNS rebinding),
// the origin of what would change something (CSRF), and the rules that the
// browser shall keep.
func (c *Console) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.plain(w, http.StatusForbidden, "A page of another origin may not do this. Nothing was changed.")
	}))
	inner := origins.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		switch {
		case !loopback.Named(r, c.Hosts):
			c.plain(w, http.StatusForbidden, "The Host header does not name this console. Nothing was done. Add the name to the console's hosts if it is one of its own.")
			return
		case c.Local != nil && !fromHere(r):
			c.plain(w, http.StatusForbidden, "No authentication is configured, so only this machine is answered.")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		inner.ServeHTTP(w, r)
	})
}

func (c *Console) plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// fromHere reports whether a request was made on this machine. One that a proxy
// passed on was not, wherever the proxy runs.
func fromHere(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return loopback.Is(loopback.Host(r.RemoteAddr))
}
