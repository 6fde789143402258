// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, clock deed.Clock) deed.Store { return storetest.NewMemory(clock) })
}

func TestTwoRuntimesOverOneMemory(t *testing.T) {
	storetest.RunTogether(t, func(*testing.T) []deed.Store {
		store := storetest.NewMemory(deed.SystemClock{})
		return []deed.Store{store, store}
	})
}
