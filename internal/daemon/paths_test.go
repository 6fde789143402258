// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"path/filepath"
	"testing"

	"github.com/deed-run/deed/internal/daemon"
)

func TestDefaultLedger(t *testing.T) {
	for _, c := range []struct {
		name, goos string
		env        map[string]string
		want       string
	}{
		{"XDG_STATE_HOME counts when it is absolute", "linux", map[string]string{"HOME": "/home/a", "XDG_STATE_HOME": "/var/state"}, "/var/state/deed/ledger.db"},
		{"a relative XDG_STATE_HOME does not", "linux", map[string]string{"HOME": "/home/a", "XDG_STATE_HOME": "state"}, "/home/a/.local/state/deed/ledger.db"},
		{"the state folder of the home folder otherwise", "linux", map[string]string{"HOME": "/home/a"}, "/home/a/.local/state/deed/ledger.db"},
		{"macOS has its own place", "darwin", map[string]string{"HOME": "/Users/a"}, "/Users/a/Library/Application Support/deed/ledger.db"},
		{"Windows has its own place", "windows", map[string]string{"LocalAppData": "/c/local", "USERPROFILE": "/c/a"}, "/c/local/deed/ledger.db"},
		{"without a home folder nothing is guessed", "linux", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := daemon.Surroundings{GOOS: c.goos, Getenv: func(name string) string { return c.env[name] }}
			got, err := s.DefaultLedger()
			if filepath.ToSlash(got) != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}
