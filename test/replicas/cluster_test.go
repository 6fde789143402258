// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"testing"

	"github.com/deed-run/deed/test/pgcluster"
)

// ownCluster starts a server for a test that stops it, or leaves it otherwise
// than it was.
func ownCluster(t *testing.T) *pgcluster.Cluster {
	t.Helper()
	server, err := pgcluster.Start(pgcluster.Memory())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}
