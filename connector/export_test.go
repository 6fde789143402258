// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

// Permitted is permitted, for tests of addresses that cannot be served here.
var Permitted = permitted
