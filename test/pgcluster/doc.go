// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package pgcluster starts PostgreSQL 15 clusters of its own, with replicas
// that follow them, and kills and promotes them, for tests and benches. It
// manages no cluster that it did not make, and a server that cannot be started
// is an error, never a skip. Start with [Start].
package pgcluster
