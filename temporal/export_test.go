// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal

import "github.com/deed-run/deed"

// MayRetry, Differences and Saying are for tests.
var (
	MayRetry    = mayRetry
	Differences = differences
)

func Saying(decision deed.Decision) string { return saying[decision] }
