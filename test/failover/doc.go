// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package failover kills the primary of two PostgreSQL clusters under load,
// promotes the other, lets the old one come back, and compares what callers
// were told with what happened. It has tests only.
//
// DEED_FAILOVERS sets how often, DEED_CUTS how many connections are cut during
// COMMIT.
package failover
