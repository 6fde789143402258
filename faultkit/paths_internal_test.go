// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import "testing"

func TestFoldersStartFromTheConfiguration(t *testing.T) {
	env := func(name string) string {
		return map[string]string{"ABSOLUTE": "/srv", "RELATIVE": "sub"}[name]
	}
	for _, c := range []struct{ name, path, want string }{
		{"none is that of the configuration", "", "/home/a/$${x}"},
		{"a relative one", "tools", "/home/a/$${x}/tools"},
		{"an absolute one", "/opt", "/opt"},
		{"a variable that is absolute", "${ABSOLUTE}/x", "${ABSOLUTE}/x"},
		{"a variable that is relative", "${RELATIVE}", "/home/a/$${x}/${RELATIVE}"},
	} {
		if got := under("/home/a/${x}", c.path, env); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
