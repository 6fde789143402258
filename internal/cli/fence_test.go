// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"regexp"
	"strings"
	"testing"
)

// The warning goes by the fence that stands: a proposal that the restored copy
// already held is warned of, and none is once the fence is lifted.
func TestWhoConsentsIsWarnedWhileAFenceStands(t *testing.T) {
	s := seed(t)
	const warning = "may have been done then; before it is sent, look at pay for the mark that its arguments carry"
	digest := regexp.MustCompile(`  digest +(sha256:[0-9a-f]{64})`).FindStringSubmatch(s.show("wire"))[1]
	warned := func(when string, want bool) {
		t.Helper()
		for command, found := range map[string]bool{
			"ops show":        strings.Contains(s.show("wire"), warning),
			"ops show --json": strings.Contains(s.show("wire", "--json"), warning),
			"ops list":        strings.Contains(s.deed("ops", "list"), "a fence stands"),
			"ops list --json": strings.Contains(s.deed("ops", "list", "--json"), `"set_at"`),
		} {
			if found != want {
				t.Errorf("%s: deed %s warns: %v, want %v", when, command, found, want)
			}
		}
	}
	warned("before any fence", false)
	s.deed("ledger", "fence", "--since", "2026-01-01T00:00:00Z", "--reason", "restored the copy")
	warned("under the fence", true)
	holds(t, s.deed("ops", "approve", string(s.ids["wire"]), "--digest", digest), warning, "deny it: deed ops deny "+string(s.ids["wire"])+" --digest "+digest)
	s.deed("ledger", "fence", "--lift", "--reason", "all are through")
	warned("after the fence", false)
}
