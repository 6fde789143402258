// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package realservers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deed-run/deed/test/installed"
)

// effect is one call of a real server that changes files. Its trace shows
// whether the call was applied since the files were last laid.
type effect struct {
	name, server, tool string
	arguments          func(folder string) map[string]any
	// lay puts the files into the state before the call, without the trace.
	lay func(t *testing.T, folder string)
	// seen reports whether the trace of the call is in the files.
	seen func(t *testing.T, folder string) bool
}

const (
	filesystem = "filesystem"
	memory     = "memory"

	shop     = `{"type":"entity","name":"shop","entityType":"place","observations":[]}`
	greeting = "greeting: hello\n"
)

var effects = []effect{
	{
		name: "a file is written", server: filesystem, tool: "write_file",
		arguments: func(folder string) map[string]any {
			return map[string]any{"path": filepath.Join(folder, "note.txt"), "content": "written"}
		},
		lay:  func(t *testing.T, folder string) { remove(t, folder, "note.txt") },
		seen: func(t *testing.T, folder string) bool { return content(t, folder, "note.txt") == "written" },
	},
	{
		name: "a file is edited", server: filesystem, tool: "edit_file",
		arguments: func(folder string) map[string]any {
			edit := map[string]any{"oldText": "hello", "newText": "hello hello"}
			return map[string]any{"path": filepath.Join(folder, "greeting.txt"), "edits": []any{edit}}
		},
		lay:  func(t *testing.T, folder string) { write(t, folder, "greeting.txt", greeting) },
		seen: func(t *testing.T, folder string) bool { return content(t, folder, "greeting.txt") != greeting },
	},
	{
		name: "a file is moved", server: filesystem, tool: "move_file",
		arguments: func(folder string) map[string]any {
			return map[string]any{"source": filepath.Join(folder, "inbox.txt"), "destination": filepath.Join(folder, "outbox.txt")}
		},
		lay: func(t *testing.T, folder string) {
			remove(t, folder, "outbox.txt")
			write(t, folder, "inbox.txt", "letter")
		},
		seen: func(t *testing.T, folder string) bool { return content(t, folder, "outbox.txt") == "letter" },
	},
	{
		name: "a folder is created", server: filesystem, tool: "create_directory",
		arguments: func(folder string) map[string]any {
			return map[string]any{"path": filepath.Join(folder, "archive")}
		},
		lay: func(t *testing.T, folder string) { remove(t, folder, "archive") },
		seen: func(t *testing.T, folder string) bool {
			_, err := os.Stat(filepath.Join(folder, "archive"))
			return err == nil
		},
	},
	{
		name: "an entity is created", server: memory, tool: "create_entities",
		arguments: func(string) map[string]any {
			entity := map[string]any{"name": "harbour", "entityType": "place", "observations": []any{"windy"}}
			return map[string]any{"entities": []any{entity}}
		},
		lay: func(t *testing.T, folder string) { write(t, folder, "memory.jsonl", shop+"\n") },
		seen: func(t *testing.T, folder string) bool {
			return strings.Contains(content(t, folder, "memory.jsonl"), "harbour")
		},
	},
	{
		name: "an observation is added", server: memory, tool: "add_observations",
		arguments: func(string) map[string]any {
			observation := map[string]any{"entityName": "shop", "contents": []any{"closed on Mondays"}}
			return map[string]any{"observations": []any{observation}}
		},
		lay: func(t *testing.T, folder string) { write(t, folder, "memory.jsonl", shop+"\n") },
		seen: func(t *testing.T, folder string) bool {
			return strings.Contains(content(t, folder, "memory.jsonl"), "Mondays")
		},
	},
}

// command is the command line that starts the effect's server on folder.
func (e effect) command(t *testing.T, folder string) []string {
	t.Helper()
	index := installed.Script(t, "@modelcontextprotocol", "server-"+e.server, "dist", "index.js")
	if e.server == filesystem {
		return []string{installed.Node(t), index, folder}
	}
	return []string{installed.Program(t, "env"), "MEMORY_FILE_PATH=" + filepath.Join(folder, "memory.jsonl"), installed.Node(t), index}
}

func (e effect) mustBeSeen(t *testing.T, folder, when string) {
	t.Helper()
	if !e.seen(t, folder) {
		t.Fatalf("%s left no trace %s", e.tool, when)
	}
}

func (e effect) mustNotBeSeen(t *testing.T, folder, when string) {
	t.Helper()
	if e.seen(t, folder) {
		t.Fatalf("%s was applied %s", e.tool, when)
	}
}

// newFolder returns an empty folder by its real path, which server-filesystem compares with.
func newFolder(t *testing.T) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, folder, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, folder, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}
