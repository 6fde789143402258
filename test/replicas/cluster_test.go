// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/deed-run/deed/test/pgcluster"
)

// starts is how often a server is started whose port somebody else took first.
const starts = 5

// newCluster starts a server that ends with this process, however it ends.
func newCluster() (*pgcluster.Cluster, error) {
	for n := 1; ; n++ {
		server, err := pgcluster.Start(pgcluster.Memory())
		switch {
		case err == nil:
			return server, watch(server.Folder)
		case n == starts || !strings.Contains(err.Error(), "Address already in use"):
			return nil, err
		}
	}
}

func ownCluster(t *testing.T) *pgcluster.Cluster {
	t.Helper()
	server, err := newCluster()
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

// watcher is a script that reads its input, which ends with this process, also
// where that is killed. A server that is still there then is told to end at
// once, and its folder is removed.
const watcher = `cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
rm -rf "$1"`

// inputs stay open for as long as this process lives.
var inputs struct {
	sync.Mutex
	open []io.Closer
}

func watch(folder string) error {
	command := exec.Command("sh", "-c", watcher, "sh", folder)
	ownSession(command)
	input, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return fmt.Errorf("watching over %s: %w", folder, err)
	}
	inputs.Lock()
	defer inputs.Unlock()
	inputs.open = append(inputs.open, input)
	return nil
}
