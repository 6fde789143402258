// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package temporal tests the guard of Activities on a real Temporal server, with
// workers that are processes of their own and are killed. scripts/campaign runs
// it: building the server takes minutes.
package temporal
