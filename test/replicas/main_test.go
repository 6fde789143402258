// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/deed-run/deed/test/installed"
	"github.com/deed-run/deed/test/pgcluster"
)

// program is the deed under test, cluster the server of the tests that leave
// it running.
var (
	program string
	cluster *pgcluster.Cluster
)

func TestMain(m *testing.M) {
	os.Exit(installed.WithDeed(func(path string) int {
		program = path
		var err error
		if cluster, err = pgcluster.Start(pgcluster.Memory()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		code := m.Run()
		if err := cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}))
}
