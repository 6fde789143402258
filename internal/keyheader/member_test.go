// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package keyheader_test

import (
	"testing"

	"github.com/deed-run/deed/internal/keyheader"
)

func TestAMemberIsAKeyWhenItIsAString(t *testing.T) {
	for value, want := range map[string][2]string{
		`"refund:order-1042:first"`: {"refund:order-1042:first", ""}, ` "a\u0062c" `: {"abc", ""}, `""`: {"", ""},
		"null": {"", "it is null, where a string must stand"}, "1042": {"", "it is a number, where a string must stand"},
		"-1.5e3": {"", "it is a number, where a string must stand"}, "true": {"", "it is a boolean, where a string must stand"},
		"false": {"", "it is a boolean, where a string must stand"}, `{"a":"b"}`: {"", "it is an object, where a string must stand"},
		`["a"]`: {"", "it is an array, where a string must stand"}, `"a`: {"", "it is no JSON string"}, "": {"", "it holds nothing, where a string must stand"},
	} {
		if key, wrong := keyheader.Member([]byte(value)); key != want[0] || wrong != want[1] {
			t.Errorf("%s: %q, %q; want %q", value, key, wrong, want)
		}
	}
}
