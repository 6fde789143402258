// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Bouncer starts PgBouncer (Debian package pgbouncer) in transaction mode in
// front of the cluster, with few server connections, and returns the port on
// which it listens.
func (c *Cluster) Bouncer(t testing.TB) int {
	t.Helper()
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(c.Folder, "bouncer")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(folder, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
* = host=%s port=%d user=deed
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
`, c.Folder, c.Port, port)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command("/usr/sbin/pgbouncer", config)
	AsOwner(cmd)
	cmd.Dir = c.Folder
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("PgBouncer (Debian package pgbouncer): %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			conn.Close()
			return port
		}
		if time.Now().After(until) {
			said, _ := os.ReadFile(log.Name())
			t.Fatalf("PgBouncer does not listen: %v\n%s", err, said)
		}
	}
}
