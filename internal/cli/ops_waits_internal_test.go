// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/deed-run/deed"
)

func TestAMatterOfOneThingIsShownBare(t *testing.T) {
	for matter, want := range map[deed.Matter]string{
		`["1043"]`: "1043", `[1043]`: "1043", `["o 1","x"]`: `["o 1","x"]`, `[""]`: `""`, `[null]`: "null", `[{"a":1}]`: `{"a":1}`, "": "", "odd": "odd",
	} {
		if got := matterText(matter); got != want {
			t.Errorf("%s is shown as %s, want %s", matter, got, want)
		}
	}
}
