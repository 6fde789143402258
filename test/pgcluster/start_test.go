// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgcluster_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed/internal/loopback"
	"github.com/deed-run/deed/test/pgcluster"
)

// abandoned makes the test program start a server, say where, and wait for its
// end.
const abandoned = "DEED_CLUSTER_ABANDONED"

func started(t *testing.T, port func() (int, error)) *pgcluster.Cluster {
	t.Helper()
	cluster, err := pgcluster.StartAt(pgcluster.Memory(), port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

func TestAPortThatSomebodyElseTookFirstIsNoFailure(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	free, err := loopback.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	tries := 0
	cluster := started(t, func() (int, error) {
		if tries++; tries < 3 {
			return other.Addr().(*net.TCPAddr).Port, nil
		}
		return free.Number, nil
	})
	if tries < 3 {
		t.Errorf("it took %d ports", tries)
	}
	conn, err := pgx.Connect(t.Context(), cluster.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close(t.Context())
}

// What a killed server leaves names a process that may be another's by now.
func TestWhatAKilledServerLeftNeitherHindersNorPassesForAServer(t *testing.T) {
	cluster := started(t, nil)
	if err := cluster.Kill(); err != nil {
		t.Fatal(err)
	}
	stale := fmt.Sprintf("%d\n%s\n1\n%d\n%s\n127.0.0.1\n\nready\n", os.Getpid(), filepath.Join(cluster.Folder, "data"), cluster.Port, cluster.Folder)
	left := []string{filepath.Join(cluster.Folder, "data", "postmaster.pid"), filepath.Join(cluster.Folder, fmt.Sprintf(".s.PGSQL.%d.lock", cluster.Port))}
	leave := func() {
		for _, name := range left {
			if err := os.WriteFile(name, []byte(stale), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	leave()
	// A signal would end this process.
	if cluster.Kill() == nil || cluster.Down() == nil {
		t.Error("a server that is dead was ended")
	}
	if err := cluster.Up(); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Exec(t.Context(), "postgres", "SELECT 1"); err != nil {
		t.Error(err)
	}
	if err := cluster.Up(); err == nil {
		t.Error("a server that runs was started")
	}
	if err := cluster.Kill(); err != nil {
		t.Fatal(err)
	}
	leave() // for Stop
}

func TestAServerEndsWithTheProcessThatStartedIt(t *testing.T) {
	if os.Getenv(abandoned) != "" {
		cluster, err := pgcluster.Start(pgcluster.Memory())
		if err == nil {
			_, err = cluster.Bouncer()
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(cluster.Folder)
		select {}
	}
	command := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	command.Env = append(os.Environ(), abandoned+"=1")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	folder := strings.TrimSpace(line)
	if err := command.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = command.Wait()
	if err != nil || !strings.HasPrefix(folder, "/") {
		t.Fatalf("it said %q: %v", line, err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(folder); os.IsNotExist(err) {
			break
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("%s is still there", folder)
		}
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range processes {
		if words, _ := os.ReadFile(name); strings.Contains(string(words), folder) && strings.Contains(string(words), "-D\x00") {
			t.Errorf("still running: %q", words)
		}
	}
}

func TestAPoolerAnswersForItsCluster(t *testing.T) {
	cluster := started(t, nil)
	pooler, err := cluster.Bouncer()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), pooler.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	var port int
	if err := conn.QueryRow(t.Context(), `SELECT current_setting('port')::int`).Scan(&port); err != nil || port != cluster.Port {
		t.Errorf("it leads to port %d, %v; want %d", port, err, cluster.Port)
	}
	_ = conn.Close(t.Context())
	if err := pooler.Stop(); err != nil {
		t.Error(err)
	}
}
