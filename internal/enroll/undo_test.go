// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/internal/enroll"
)

func TestUndoGoesBackBehindEveryPlanAppliedSince(t *testing.T) {
	target := place(t, "cursor", `{"mcpServers": {"a": {"command": "a"}}}`)
	apply(t, plan(t, target, enroll.Options{}))
	grown := strings.Replace(read(t, target.Path), `{"a":`, `{"b": {"command": "b", "args": []}, "a":`, 1)
	write(t, target.Path, grown)
	second := plan(t, target, enroll.Options{Binary: "/opt/deed"})
	if diff := cmp.Diff([]string{"b"}, second.Wrapped); diff != "" {
		t.Fatal(diff)
	}
	apply(t, second)

	undo := undone(t, target, enroll.Options{})
	if diff := cmp.Diff([]string{"b", "a"}, undo.Unwrapped); diff != "" {
		t.Error(diff)
	}
	apply(t, undo)
	want := `{"mcpServers": {"b": {"command": "b", "args": []}, "a": {"command": "a"}}}`
	if diff := cmp.Diff(want, read(t, target.Path)); diff != "" {
		t.Error(diff)
	}
}

func TestUndoLeavesWhatRanThroughDeedBefore(t *testing.T) {
	before := `{"mcpServers": {"mine": {"command": "deed", "args": ["mcp", "--name", "mine", "--", "m"]}, "a": {"command": "a"}}}`
	target := place(t, "cursor", before)
	apply(t, plan(t, target, enroll.Options{}))
	write(t, target.Path, read(t, target.Path)+"\n")
	undo := undone(t, target, enroll.Options{})
	apply(t, undo)
	if diff := cmp.Diff(before+"\n", read(t, target.Path)); diff != "" {
		t.Error(diff)
	}
	if !hasNote(undo.Left, enroll.NoteWrapped, "mine") {
		t.Errorf("nothing says that mine was left: %+v", undo.Left)
	}
}

func TestUndoWithoutABackupTakesOutTheCommandsOwnEntries(t *testing.T) {
	target := place(t, "cursor", `{"mcpServers": {
"a": {"command": "deed", "args": ["mcp", "--name", "a", "--", "npx", "-y"]},
"b": {"command": "/x/deed", "args": ["mcp", "--", "npx"]},
"c": {"command": "deed", "args": ["mcp", "--config", "deed.yaml"]}}}`)
	undo := undone(t, target, enroll.Options{})
	if diff := cmp.Diff([]string{"a"}, undo.Unwrapped); diff != "" {
		t.Error(diff)
	}
	if !hasNote(undo.Left, enroll.NoteWrapped, "b") || !hasNote(undo.Left, enroll.NoteWrapped, "c") {
		t.Errorf("left: %+v", undo.Left)
	}
	if !hasNote(undo.Notes, enroll.NoteEdited, "") || undo.Exact {
		t.Errorf("nothing says that there was no backup: %+v", undo.Notes)
	}
	backup := apply(t, undo)
	if !strings.Contains(read(t, target.Path), `"a": {"command": "npx", "args": ["-y"]}`) {
		t.Errorf("got %s", read(t, target.Path))
	}
	if !strings.Contains(backup, ".before-uninit.") {
		t.Errorf("no backup before an edit: %q", backup)
	}
	if again := undone(t, target, enroll.Options{}); !again.Empty() {
		t.Errorf("a second undo would change the file again:\n%s", again.Diff())
	}
}

func TestADamagedBackupIsNotPutBack(t *testing.T) {
	before := `{"mcpServers": {"a": {"command": "a", "args": ["x"]}}}`
	target := place(t, "cursor", before)
	backup := apply(t, plan(t, target, enroll.Options{}))
	write(t, backup, `{"mcpServers": {`)
	undo := undone(t, target, enroll.Options{})
	if undo.Exact {
		t.Error("undo claims to be exact with a damaged backup")
	}
	apply(t, undo)
	if diff := cmp.Diff(before, read(t, target.Path)); diff != "" {
		t.Error(diff)
	}
}

func TestBackupsCanLiveInAFolderOfTheirOwn(t *testing.T) {
	before := `{"mcpServers": {"a": {"command": "a"}}}`
	opts := enroll.Options{BackupDir: filepath.Join(t.TempDir(), "state", "backups")}
	one, two := place(t, "cursor", before), place(t, "cursor", before)
	for _, target := range []enroll.Target{one, two} {
		if backup := apply(t, plan(t, target, opts)); filepath.Dir(backup) != opts.BackupDir {
			t.Errorf("the backup is at %s", backup)
		}
		files, err := os.ReadDir(filepath.Dir(target.Path))
		if err != nil || len(files) != 1 {
			t.Errorf("something was left beside the file: %v %v", files, err)
		}
	}
	apply(t, undone(t, one, opts))
	if undo := undone(t, two, opts); !undo.Exact {
		t.Error("two files of one name share their backups")
	}
	if read(t, one.Path) != before {
		t.Errorf("got %s", read(t, one.Path))
	}
}
