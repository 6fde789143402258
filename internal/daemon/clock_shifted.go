// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build clockskew

package daemon

import (
	"fmt"
	"time"

	"github.com/deed-run/deed"
)

// processClock shifts the machine's clock by DEED_CLOCK_OFFSET, such as 720h.
func processClock(getenv func(string) string) (deed.Clock, error) {
	text := getenv("DEED_CLOCK_OFFSET")
	if text == "" {
		return deed.SystemClock{}, nil
	}
	offset, err := time.ParseDuration(text)
	if err != nil {
		return nil, fmt.Errorf("DEED_CLOCK_OFFSET: %w; nothing was started; write a duration such as 720h or -1h", err)
	}
	return skewed{offset: offset}, nil
}

type skewed struct {
	deed.SystemClock
	offset time.Duration
}

func (c skewed) Now() time.Time { return c.SystemClock.Now().Add(c.offset) }
