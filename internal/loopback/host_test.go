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

func TestTheHostOfAnAddress(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:7391": "127.0.0.1", "127.0.0.1": "127.0.0.1", "[::1]:7391": "::1", "[::1]": "::1", "localhost:7391": "localhost",
		"localhost": "localhost", "localhost:": "localhost", "LocalHost:80": "LocalHost", "deed.example.:80": "deed.example.",
		"[fe80::1%eth0]:80": "fe80::1%eth0", "[::1%lo]": "::1%lo", "[::ffff:127.0.0.1]:1": "::ffff:127.0.0.1",
		"": "", ":7391": "", "::1": "", "::1:7391": "", "[::1": "", "::1]": "", "[::1]7391": "", "[::1]:port": "", "[[::1]]": "", "[]": "",
		"[127.0.0.1]:80": "", "[localhost]": "", "localhost:http": "", "localhost:-1": "", "localhost:+80": "", "localhost:65536": "", "localhost:80:90": "",
		"localhost:80@evil.example": "", "local[host]": "",
	} {
		if got := loopback.Host(address); got != want {
			t.Errorf("%q has the host %q, want %q", address, got, want)
		}
	}
}

func TestWhichHostsAreThisMachine(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "LocalHost": true, "127.0.0.1": true, "127.9.9.9": true, "127.255.255.254": true,
		"::1": true, "0:0:0:0:0:0:0:1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.": false, "127.0.0.1.": false, "a.localhost": false, "localhost.example": false, "127.0.0.1.evil.example": false,
		"::1%lo": false, "::1%25lo": false, "::": false, "0.0.0.0": false, "128.0.0.1": false, "::ffff:192.0.2.1": false, "::127.0.0.1": false,
		"127.1": false, "2130706433": false, "0x7f000001": false, "0177.0.0.1": false, "127.0.0.01": false, " localhost": false, "localhost ": false,
		"localho\u017ft": false, "localhos\x00": false, "evil.example": false, "192.0.2.1": false, "fe80::1": false,
	} {
		if got := loopback.Is(host); got != want {
			t.Errorf("%q is taken for this machine: %t", host, got)
		}
	}
}

func TestANameThatPointsAtThisMachineIsForeign(t *testing.T) {
	hosts := []string{"Deed.example", "kiosk"}
	named := map[string]bool{
		"127.0.0.1:7391": true, "localhost:7391": true, "localhost": true, "LOCALHOST:7391": true, "[::1]:7391": true, "[::1]": true,
		"deed.example": true, "DEED.example:7391": true, "deed.example:443": true, "kiosk": true,
		"": false, ":7391": false, "evil.example": false, "evil.example:7391": false, "127.0.0.1.evil.example:7391": false, "localhost.evil.example": false,
		"localhost.": false, "localhost.:7391": false, "deed.example.": false, "deed.example.evil.example": false, "www.deed.example": false,
		"[::1%lo]:7391": false, "::1": false, "[::1": false, "[127.0.0.1]": false, "localhost:x": false, "deed.example:x": false, "\u212aiosk": false,
		"0.0.0.0:7391": false, "127.1:7391": false, "192.168.0.1:7391": false,
	}
	for name, local := range map[string]struct {
		address net.Addr
		checked bool
	}{
		"IPv4 loopback":             {&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7391}, true},
		"another of 127/8":          {&net.TCPAddr{IP: net.IPv4(127, 3, 2, 1), Port: 7391}, true},
		"IPv6 loopback":             {&net.TCPAddr{IP: net.IPv6loopback, Port: 7391}, true},
		"IPv6 loopback with a zone": {&net.TCPAddr{IP: net.IPv6loopback, Port: 7391, Zone: "lo"}, true},
		"IPv4 within IPv6":          {&net.TCPAddr{IP: net.ParseIP("::ffff:127.0.0.1"), Port: 7391}, true},
		"a network":                 {&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7391}, false},
		"link-local with a zone":    {&net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 7391, Zone: "eth0"}, false},
		"a socket in the file tree": {&net.UnixAddr{Net: "unix", Name: "/run/deed.sock"}, false},
		"unknown":                   {nil, false},
	} {
		for host, ours := range named {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Host = host
			if local.address != nil {
				r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local.address))
			}
			if got := loopback.Named(r, hosts); got != ours {
				t.Errorf("%q is taken for a name of ours: %t", host, got)
			}
			if got, want := loopback.Foreign(r, hosts), local.checked && !ours; got != want {
				t.Errorf("by %s, %q is taken for foreign: %t", name, host, got)
			}
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if r.Host = ""; loopback.Named(r, []string{""}) {
		t.Error("no name at all is taken for one that is configured as empty")
	}
}
