// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/deed-run/deed/outcome"
)

// newTransport makes a transport that connects to public addresses only, unless private ones are allowed. Addresses are checked as they are
// connected to, after names were resolved, so that a name that resolves otherwise a moment later gains nothing. Proxies are not used: they
// would connect in its stead.
func newTransport(allowPrivate bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	if !allowPrivate {
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error { return permitted(address) }
	}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return outcome.Watched(conn), nil
		},
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 15 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		DisableCompression: true, MaxResponseHeaderBytes: 256 << 10,
	}
}

// reserved are blocks that are not of the public Internet and that netip has no word for (IANA special-purpose registries), and those that
// wrap an IPv4 address in an IPv6 one.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("::/96"),
}

// permitted refuses addresses that a provider on the Internet cannot have: private networks, this machine, link-local ones, among which are
// the metadata services of clouds, and everything reserved.
func permitted(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s: %w", address, outcome.ErrAddress)
	}
	ip := at.Addr().WithZone("").Unmap()
	refused := !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified()
	for _, block := range reserved {
		refused = refused || block.Contains(ip)
	}
	if refused {
		return fmt.Errorf("%s is no public address (write allow_private: true for a provider in your own network): %w", ip, outcome.ErrAddress)
	}
	return nil
}
