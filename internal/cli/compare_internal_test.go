// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefinitionsAreComparedByWhatTheySay(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                []string
	}{
		{"order and spacing are no difference", `{"a":1,"b":2}`, `{ "b": 2, "a": 1 }`, []string{"  ..."}},
		{"a changed value", `{"a":1}`, `{"a":2}`, []string{"  {", `-   "a": 1`, `+   "a": 2`, "  }"}},
		{"a new member", `{"a":1}`, `{"a":1,"b":<>}`, []string{"- {", `-   "a": 1`, "- }", `+ {"a":1,"b":<>}`}},
		{"a number keeps its digits", `{"a":10000000000000000000001}`, `{}`, []string{"- {", `-   "a": 10000000000000000000001`, "- }", "+ {}"}},
		{"words of a server cannot steer the terminal", `"a"`, `{` + "\x1b[2J", []string{`- "a"`, "+ { [2J"}},
		{
			"what is far from a change is left out", `[1,2,3,4,5,6,7,8,9]`, `[1,2,3,4,5,6,7,8,0]`,
			[]string{"  ...", "    6,", "    7,", "    8,", "-   9", "+   0", "  ]"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := compareJSON([]byte(c.before), []byte(c.after))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestVeryLongDefinitionsAreShownWhole(t *testing.T) {
	long := strings.Split(strings.Repeat("x\n", 3000), "\n")
	if got := len(compareLines(long, long)); got != 2*len(long) {
		t.Errorf("%d lines", got)
	}
}
