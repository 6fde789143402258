// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package realservers_test

import (
	"testing"

	"github.com/deed-run/deed/test/installed"
)

// deedProgram is the gateway under test, which TestMain builds.
var deedProgram string

func runTests(m *testing.M) int {
	return installed.WithDeed(func(program string) int {
		deedProgram = program
		return m.Run()
	})
}
