// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build !unix

package bench

import "time"

func processTime() time.Duration { return 0 }
