// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build !clockskew

package daemon

import (
	"errors"

	"github.com/deed-run/deed"
)

// processClock is the machine's clock. An offset is refused rather than
// ignored: whoever sets it would believe in another time.
func processClock(getenv func(string) string) (deed.Clock, error) {
	if getenv("DEED_CLOCK_OFFSET") != "" {
		return nil, errors.New("DEED_CLOCK_OFFSET is set, and this binary cannot shift its clock; nothing was started; unset it, or build with -tags clockskew")
	}
	return deed.SystemClock{}, nil
}
