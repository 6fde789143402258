// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgcluster

// StartAt is Start with a choice of ports.
func StartAt(within string, port func() (int, error)) (*Cluster, error) {
	return start(within, port, nil)
}
