// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/internal/enroll"
)

const oneServer = `{"mcpServers": {"a": {"command": "a", "env": {"K": "secret"}}}}`

func TestApplyKeepsTheModeAndHidesTheBackup(t *testing.T) {
	target := place(t, "cursor", oneServer)
	if err := os.Chmod(target.Path, 0o664); err != nil {
		t.Fatal(err)
	}
	backup := apply(t, plan(t, target, enroll.Options{}))
	for path, want := range map[string]fs.FileMode{target.Path: 0o664, backup: 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v (%v)", path, info.Mode(), want, err)
		}
	}
	files, err := os.ReadDir(filepath.Dir(target.Path))
	if err != nil || len(files) != 2 {
		t.Errorf("want the file and its backup alone: %v %v", files, err)
	}
}

func TestALinkStaysALinkAndItsFileIsEdited(t *testing.T) {
	real := place(t, "cursor", oneServer)
	link := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.Symlink(real.Path, link); err != nil {
		t.Fatal(err)
	}
	target := enroll.Target{Client: real.Client, Path: link}
	c := plan(t, target, enroll.Options{})
	if c.Path != real.Path {
		t.Errorf("the change is for %s, want %s", c.Path, real.Path)
	}
	apply(t, c)
	if got, err := os.Readlink(link); err != nil || got != real.Path {
		t.Errorf("the link is gone: %q %v", got, err)
	}
	if !strings.Contains(read(t, real.Path), `"deed"`) {
		t.Error("the file behind the link was not edited")
	}
	undo := undone(t, target, enroll.Options{})
	if apply(t, undo); !undo.Exact || read(t, real.Path) != oneServer {
		t.Errorf("undo through the link: exact %v, %s", undo.Exact, read(t, real.Path))
	}
}

func TestApplyRefusesAndChangesNothing(t *testing.T) {
	notAFolder := filepath.Join(t.TempDir(), "file")
	write(t, notAFolder, "")
	tests := []struct {
		name    string
		opts    enroll.Options
		disturb func(t *testing.T, path string)
		problem string
	}{
		{"a file changed since the plan", enroll.Options{}, func(t *testing.T, path string) { write(t, path, oneServer+" ") }, "changed by someone else"},
		{"a file that is gone", enroll.Options{}, func(t *testing.T, path string) { remove(t, path) }, "cannot be read"},
		{"a backup folder that cannot be made", enroll.Options{BackupDir: filepath.Join(notAFolder, "x")}, func(*testing.T, string) {}, "no backup can be kept"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			target := place(t, "cursor", oneServer)
			c := plan(t, target, tt.opts)
			tt.disturb(t, target.Path)
			was, _ := os.ReadFile(target.Path)
			_, err := enroll.Apply(c)
			var refused *enroll.FileError
			if !errors.As(err, &refused) || !strings.Contains(refused.Problem, tt.problem) || refused.Remedy == "" {
				t.Errorf("got %v, want %q", err, tt.problem)
			}
			if now, _ := os.ReadFile(target.Path); string(now) != string(was) {
				t.Error("the file was changed")
			}
		})
	}
	t.Run("a read-only file", func(t *testing.T) {
		target := place(t, "cursor", oneServer)
		if err := os.Chmod(target.Path, 0o444); err != nil {
			t.Fatal(err)
		}
		_, err := enroll.Apply(plan(t, target, enroll.Options{}))
		if err == nil || !strings.Contains(err.Error(), "marked read-only") || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("got %v", err)
		}
		if diff := cmp.Diff(oneServer, read(t, target.Path)); diff != "" {
			t.Error(diff)
		}
	})
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
