// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package scenarios plays failures that people have reported in public against
// the deed binary, with a provider that counts what really happened.
package scenarios
