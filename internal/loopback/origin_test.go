// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package loopback_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/deed-run/deed/internal/loopback"
)

func TestWhoIsAStranger(t *testing.T) {
	here, elsewhere := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7391}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7391}
	for name, c := range map[string]struct {
		local        net.Addr
		host         string
		origin, site string
		stranger     bool
	}{
		"a program":                                    {here, "127.0.0.1:7391", "", "", false},
		"a program, from another machine":              {elsewhere, "gateway:7391", "", "", false},
		"a page of this host":                          {here, "127.0.0.1:7391", "http://127.0.0.1:7391", "same-origin", false},
		"a page of this machine":                       {here, "localhost:7391", "http://127.0.0.1:3000", "cross-site", false},
		"an address that was typed":                    {here, "localhost:7391", "", "none", false},
		"a page of a public host":                      {elsewhere, "deed.example", "https://deed.example", "same-origin", false},
		"a public host behind a proxy here":            {here, "deed.example", "https://deed.example", "same-origin", false},
		"a page of a named host":                       {elsewhere, "gateway:7391", "https://deed.example", "cross-site", false},
		"a foreign page":                               {here, "127.0.0.1:7391", "https://evil.example", "cross-site", true},
		"a foreign page in a browser without metadata": {here, "127.0.0.1:7391", "https://evil.example", "", true},
		"a foreign page at a public host":              {elsewhere, "deed.example", "https://evil.example", "cross-site", true},
		"a foreign picture, link or form":              {here, "127.0.0.1:7391", "", "cross-site", true},
		"a page of this machine at a public host":      {elsewhere, "deed.example", "http://localhost:3000", "cross-site", true},
		"a sandboxed page":                             {here, "127.0.0.1:7391", "null", "cross-site", true},
		"an origin that is none":                       {here, "127.0.0.1:7391", "://", "", true},
		"a name that points here":                      {here, "evil.example:7391", "http://evil.example:7391", "same-origin", true},
		"a name that points here, without an origin":   {here, "evil.example:7391", "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				r := httptest.NewRequest(method, "/http/pay/accounts", nil)
				r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, c.local))
				r.Host = c.host
				if c.origin != "" {
					r.Header.Set("Origin", c.origin)
				}
				if c.site != "" {
					r.Header.Set("Sec-Fetch-Site", c.site)
				}
				if why := loopback.Stranger(r, []string{"deed.example"}); (why != "") != c.stranger {
					t.Errorf("%s: %q", method, why)
				}
			}
		})
	}
}
