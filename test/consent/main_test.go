// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package consent_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/deed-run/deed/test/installed"
	"github.com/deed-run/deed/test/pgcluster"
)

// program is the gateway, crashing is the same with its named crash points.
var (
	program, crashing string
	cluster           *pgcluster.Cluster
)

func TestMain(m *testing.M) {
	os.Exit(installed.WithDeed(func(path string) int {
		program, crashing = path, filepath.Join(filepath.Dir(path), "deed-faultpoints")
		build := exec.Command("go", "build", "-tags", "faultpoints", "-o", crashing, "github.com/deed-run/deed/cmd/deed")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return 1
		}
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
