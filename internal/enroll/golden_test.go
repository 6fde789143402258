// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/internal/enroll"
)

// Each client has before.*, after.* (what init writes), edited.* (after.*, then
// changed by the user) and undone.* (what uninit makes of edited.*), and
// report.txt with the notes and the difference. UPDATE_GOLDEN=1 writes after.*,
// undone.* and report.txt anew.
func TestEveryClientsFileIsWrappedAndUnwrappedAsInItsGoldenFiles(t *testing.T) {
	for _, client := range enroll.Clients() {
		t.Run(client.Name, func(t *testing.T) {
			dir := filepath.Join("testdata", client.Name)
			ext := ".json"
			if client.Name == "codex" {
				ext = ".toml"
			}
			before := read(t, filepath.Join(dir, "before"+ext))
			target := place(t, client.Name, before)

			change := plan(t, target, enroll.Options{})
			golden(t, filepath.Join(dir, "after"+ext), string(change.After))
			golden(t, filepath.Join(dir, "report.txt"), report(change))
			backup := apply(t, change)
			if got := read(t, backup); got != before {
				t.Errorf("the backup differs from the file (-file +backup):\n%s", cmp.Diff(before, got))
			}
			if again := plan(t, target, enroll.Options{}); !again.Empty() || len(again.Wrapped) > 0 {
				t.Errorf("a second plan would change the file again:\n%s", again.Diff())
			}

			undo := undone(t, target, enroll.Options{})
			if !undo.Exact {
				t.Error("undoing an untouched file is not exact")
			}
			if diff := cmp.Diff(change.Wrapped, undo.Unwrapped); diff != "" {
				t.Errorf("undo names other servers (-wrapped +unwrapped):\n%s", diff)
			}
			apply(t, undo)
			if got := read(t, target.Path); got != before {
				t.Errorf("undo left a difference (-before +undone):\n%s", cmp.Diff(before, got))
			}

			apply(t, plan(t, target, enroll.Options{}))
			write(t, target.Path, read(t, filepath.Join(dir, "edited"+ext)))
			undo = undone(t, target, enroll.Options{})
			if undo.Exact {
				t.Error("undoing an edited file claims to be exact")
			}
			if !hasNote(undo.Notes, enroll.NoteEdited, "") {
				t.Errorf("undoing an edited file does not say so: %+v", undo.Notes)
			}
			apply(t, undo)
			golden(t, filepath.Join(dir, "undone"+ext), read(t, target.Path))
		})
	}
}

func report(c enroll.Change) string {
	var out strings.Builder
	for _, name := range c.Wrapped {
		fmt.Fprintf(&out, "wrapped: %s\n", name)
	}
	for _, n := range append(append([]enroll.Note{}, c.Left...), c.Notes...) {
		fmt.Fprintf(&out, "%s: line %d: %s: %s -> %s\n", n.Kind, n.Line, n.Server, n.Reason, n.Advice)
	}
	out.WriteString(strings.ReplaceAll(c.Diff(), filepath.Dir(c.Path)+string(filepath.Separator), ""))
	return out.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		write(t, path, got)
		return
	}
	if diff := cmp.Diff(read(t, path), got); diff != "" {
		t.Errorf("%s (-golden +got):\n%s", path, diff)
	}
}

// place puts a client's file in a fresh folder.
func place(t *testing.T, client, content string) enroll.Target {
	t.Helper()
	c, ok := enroll.ClientNamed(client)
	if !ok {
		t.Fatalf("no client %q", client)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name := "mcp.json"
	if client == "codex" {
		name = "config.toml"
	}
	target := enroll.Target{Client: c, Path: filepath.Join(dir, name)}
	write(t, target.Path, content)
	return target
}

func plan(t *testing.T, target enroll.Target, opts enroll.Options) enroll.Change {
	t.Helper()
	c, err := enroll.Plan(target, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func undone(t *testing.T, target enroll.Target, opts enroll.Options) enroll.Change {
	t.Helper()
	c, err := enroll.Undo(target, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func apply(t *testing.T, c enroll.Change) string {
	t.Helper()
	backup, err := enroll.Apply(c)
	if err != nil {
		t.Fatal(err)
	}
	return backup
}

func hasNote(notes []enroll.Note, kind enroll.NoteKind, server string) bool {
	for _, n := range notes {
		if n.Kind == kind && n.Server == server {
			return true
		}
	}
	return false
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
