// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
)

// door is a way to reach the gateway, with the protocol era spoken there.
type door struct {
	name    string
	kind    faultkit.Door
	version string
}

// The doors that are no MCP: tools called over /v1, and an API behind the
// reverse proxy. Programs use them, and no model reads their answers.
const (
	overV1  faultkit.Door = "v1"
	proxied faultkit.Door = "proxy"
)

func (d door) stdio() bool  { return d.kind == faultkit.Stdio }
func (d door) modern() bool { return d.version == caller.Modern }
func (d door) mcp() bool    { return d.kind == faultkit.Stdio || d.kind == faultkit.HTTP }

// process is how the gateway is started for the door.
func (d door) process() faultkit.Door {
	if d.stdio() {
		return faultkit.Stdio
	}
	return faultkit.HTTP
}

func doors() []door {
	return []door{
		{"stdio", faultkit.Stdio, caller.Legacy},
		{"http-session", faultkit.HTTP, caller.Legacy},
		{"v1", overV1, caller.Modern},
		{"http-stateless", faultkit.HTTP, caller.Modern},
		{"proxy", proxied, caller.Modern},
	}
}

// store is a kind of ledger.
type store string

const (
	inSQLite     store = "SQLite"
	inPostgreSQL store = "PostgreSQL"
)

// place is where a story is played: a door, a ledger, and so many gateways on
// it, to which the calls of a client go in turn.
type place struct {
	door
	ledger   store
	replicas int
}

func (p place) String() string { return fmt.Sprintf("%s/%s/%d", p.name, p.ledger, p.replicas) }

// places are all combinations, the doors in turn first.
func places() []place {
	var list []place
	for _, pair := range []place{{ledger: inSQLite, replicas: 1}, {ledger: inPostgreSQL, replicas: 2}, {ledger: inPostgreSQL, replicas: 1}, {ledger: inSQLite, replicas: 2}} {
		for _, d := range doors() {
			pair.door = d
			list = append(list, pair)
		}
	}
	return list
}

// The places of stories that not every place can show.
func overMCP(p place) bool      { return p.mcp() }
func byPrograms(p place) bool   { return !p.mcp() }
func behindProxy(p place) bool  { return p.kind == proxied }
func withOwnClock(p place) bool { return p.ledger == inSQLite }

var databases atomic.Int64

// place makes a new ledger and returns it as a configuration names it.
func (w *world) place(kind store, dir string) string {
	w.Helper()
	if kind != inPostgreSQL {
		w.ledger = filepath.Join(dir, "ledger.db")
		return "sqlite:" + w.ledger
	}
	w.database = fmt.Sprintf("scene_%d", databases.Add(1))
	_, err := cluster.Database(w.Context(), w.database)
	w.must(err)
	return cluster.URL(w.database)
}

// said collects what gateways print; several may print at once.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(data)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
