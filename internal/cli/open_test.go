// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"strings"
	"testing"
)

// Of what is settled nothing is looked up, and nothing is left to resolve, whether
// look-ups are configured or not.
func TestALookUpOfWhatIsSettledSaysWhereItStands(t *testing.T) {
	s := seed(t)
	look := func(name string) string {
		t.Helper()
		got := refusedCommand(t, 4, "ops", "reconcile", string(s.ids[name]), "--config", s.config)
		holds(t, got, "nothing was changed", "deed ops show "+string(s.ids[name]))
		return got
	}
	told := func() {
		t.Helper()
		for name, want := range map[string]string{
			"batch": "the operation is committed; nothing about it is open", "refused": "the operation is failed; nothing about it is open",
			"wire": "the operation is awaiting_approval; nothing was ever sent",
		} {
			if got := look(name); !strings.Contains(got, want) || strings.Contains(got, "by hand") {
				t.Errorf("of %s it says %s", name, got)
			}
		}
	}
	told()
	holds(t, look("lost"), "the operation is uncertain; no look-up is configured: look at pay and resolve it by hand")
	holds(t, refusedCommand(t, 3, "ops", "reconcile", "op_00000000000000000000000000", "--config", s.config), "no such operation")

	rules := strings.Replace(seededRules, "budget: {", "marker: {append: /about}, reconcile: {tool: pay/find, args: {q: \"{marker}\"}, found: \"result.items.filter(i, i.about.contains(marker))\", id: item.id}, budget: {", 1)
	if err := os.WriteFile(s.config, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	told()
}

func TestTheWishToCancelWhatIsInDoubtIsSaidToBeNoted(t *testing.T) {
	s := seed(t)
	id := string(s.ids["lost"])
	holds(t, s.deed("ops", "cancel", id, "--reason", "ordered elsewhere"), "is uncertain (outcome_unknown); the cancellation is noted: nothing more is tried",
		"it ends as cancelled or committed when that is known", "how to settle it: deed ops show "+id+" --config "+s.config)
	got := s.show("lost")
	holds(t, got, "it did not happen; it ends as cancelled")
	if strings.Contains(got, "permits another attempt") {
		t.Errorf("of one that is not tried again it says\n%s", got)
	}
	holds(t, s.deed("ops", "resolve", id, "--not-applied", "--reason", "the account shows none"), id+" is cancelled")
}
