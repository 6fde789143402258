// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build !gateway

package realservers_test

import "testing"

func runTests(m *testing.M) int { return m.Run() }
