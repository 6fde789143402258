// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgcluster

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// guard is a process that outlives this one by a moment.
type guard struct {
	command *exec.Cmd
	input   io.Closer
}

// guardScript reads its input, which ends with this process, also where that is
// killed. A server and a pooler that are still there then are told to end at once,
// and the folder is removed. What a process number means is asked of the process:
// it may be another's by now.
const guardScript = `cat >/dev/null
ours() { [ -n "$1" ] && tr '\0' '\n' <"/proc/$1/cmdline" 2>/dev/null | grep -q -x -F -e "$2"; }
ended() {
  pid=$(head -n 1 "$1" 2>/dev/null)
  ours "$pid" "$2" && kill -QUIT "$pid" 2>/dev/null
  for _ in $(seq 300); do ours "$pid" "$2" || break; sleep 0.1; done
}
ended "$1/bouncer/pid" "$1/bouncer/pgbouncer.ini"
ended "$1/data/postmaster.pid" "$1/data"
rm -rf "$1"`

func watch(folder string) (*guard, error) {
	command := exec.Command("sh", "-c", guardScript, "sh", folder)
	ownSession(command)
	input, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("watching over %s: %w; no server was started", folder, err)
	}
	return &guard{command, input}, nil
}

// end lets the guard find that there is nothing to do, and waits for it.
func (g *guard) end() error {
	if err := g.input.Close(); err != nil {
		return err
	}
	return g.command.Wait()
}

// postmaster is the server's first process, and whether it runs. A file that
// names it may be left over from a server that was killed, and its number may be
// another process's.
func (c *Cluster) postmaster() (pid int, running bool) {
	text, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return 0, false
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err = strconv.Atoi(strings.TrimSpace(line))
	return pid, err == nil && serves(pid, c.data())
}

// forget removes what a killed server left, which would keep the next one from
// starting or pass for it: its own lock, and that of the socket.
func (c *Cluster) forget() error {
	if pid, running := c.postmaster(); running {
		return fmt.Errorf("the server in %s runs already, as process %d; nothing was started", c.Folder, pid)
	}
	for _, name := range []string{filepath.Join("data", "postmaster.pid"), fmt.Sprintf(".s.PGSQL.%d.lock", c.Port)} {
		if err := os.Remove(filepath.Join(c.Folder, name)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
