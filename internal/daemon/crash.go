// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build !faultpoints

package daemon

import (
	"errors"

	"github.com/deed-run/deed"
)

// HasCrashPoints: this binary was built with the tag faultpoints.
const HasCrashPoints = false

// crashing refuses DEED_CRASH_AT rather than ignoring it: a test that believes
// in a crash which never comes proves nothing.
func crashing(store deed.Store, getenv func(string) string) (deed.Store, error) {
	if getenv("DEED_CRASH_AT") != "" {
		return nil, errors.New("DEED_CRASH_AT is set, and this binary has no crash points; nothing was started; unset it, or build with -tags faultpoints")
	}
	return store, nil
}
