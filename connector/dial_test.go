// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector"
)

func TestPrivateAddressesAreNotConnectedTo(t *testing.T) {
	server := record(t, nil)
	for _, base := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		api, err := connector.Load([]byte("base_url: "+base+"\ntools:\n  x: {method: POST, path: /x}\n"), "api.yaml", 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = api.Close() })
		out := api.Call(t.Context(), "x", grant(""), []byte(`{}`))
		if out.Kind != deed.OutcomeUnsent || !strings.Contains(out.Message, "allow_private: true") {
			t.Errorf("%s: %s: %s", base, out.Kind, out.Message)
		}
	}
	if n := len(server.requests()); n != 0 {
		t.Errorf("%d requests reached it", n)
	}
}

func TestPermittedAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"1.1.1.1:443": true, "[2606:4700::1111]:443": true, "8.8.8.8:80": true, "[2a00:1450:4001::1]:443": true,
		"127.0.0.1:80": false, "127.9.9.9:80": false, "[::1]:80": false, "0.0.0.0:80": false, "[::]:80": false,
		"10.1.2.3:80": false, "172.16.0.1:80": false, "192.168.1.1:80": false, "[fd00:ec2::254]:80": false, "[fc00::1]:80": false,
		"169.254.169.254:80": false, "[fe80::1]:80": false, "[fe80::1%eth0]:80": false, "100.64.0.1:80": false, "100.100.100.200:80": false,
		"192.0.0.192:80": false, "198.18.0.1:80": false, "224.0.0.1:80": false, "[ff02::1]:80": false, "255.255.255.255:80": false, "240.0.0.1:80": false,
		"[::ffff:10.0.0.1]:80": false, "[::ffff:169.254.169.254]:80": false, "[64:ff9b::a9fe:a9fe]:80": false, "[2002:a9fe:a9fe::1]:80": false, "[::7f00:1]:80": false,
		"not an address": false,
	} {
		if got := connector.Permitted(address) == nil; got != want {
			t.Errorf("%s: permitted %v, want %v", address, got, want)
		}
	}
}
