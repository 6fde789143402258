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

func TestEverySystemHasItsPlaces(t *testing.T) {
	project := []string{
		"claude-code project /w/.mcp.json",
		"cursor project /w/.cursor/mcp.json", "cursor user /h/.cursor/mcp.json",
		"vscode project /w/.vscode/mcp.json",
		"codex project /w/.codex/config.toml", "codex user /h/.codex/config.toml",
		"gemini project /w/.gemini/settings.json", "gemini user /h/.gemini/settings.json",
	}
	tests := []struct {
		name string
		env  enroll.Env
		want []string
	}{
		{"Linux", enroll.Env{GOOS: "linux", Home: "/h", WorkDir: "/w"}, []string{"claude-desktop user /h/.config/Claude/claude_desktop_config.json", "vscode user /h/.config/Code/User/mcp.json"}},
		{"macOS", enroll.Env{GOOS: "darwin", Home: "/h", WorkDir: "/w"}, []string{"claude-desktop user /h/Library/Application Support/Claude/claude_desktop_config.json", "vscode user /h/Library/Application Support/Code/User/mcp.json"}},
		{"Windows", enroll.Env{GOOS: "windows", Home: "/h", WorkDir: "/w"}, []string{"claude-desktop user /h/AppData/Roaming/Claude/claude_desktop_config.json", "vscode user /h/AppData/Roaming/Code/User/mcp.json"}},
		{"a configuration folder elsewhere", enroll.Env{GOOS: "linux", Home: "/h", WorkDir: "/w", ConfigDir: "/c"}, []string{"claude-desktop user /c/Claude/claude_desktop_config.json", "vscode user /c/Code/User/mcp.json"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := map[string]bool{}
			for _, c := range enroll.Candidates(tt.env) {
				got[c.Client.Name+" "+string(c.Scope)+" "+filepath.ToSlash(c.Path)] = true
			}
			want := map[string]bool{}
			for _, w := range append(append([]string{}, project...), tt.want...) {
				want[w] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindReturnsWhatExistsOnce(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".cursor", "mcp.json"), "{}")
	write(t, filepath.Join(home, ".gemini"), "a file where a folder could be")
	codex := t.TempDir()
	write(t, filepath.Join(codex, "config.toml"), "")
	if err := os.Symlink(filepath.Join(home, "gone"), filepath.Join(home, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	found, err := enroll.Find(enroll.Env{GOOS: "linux", Home: home, WorkDir: home, CodexHome: codex})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		got = append(got, f.Client.Name)
	}
	if diff := cmp.Diff([]string{"claude-code", "cursor", "codex"}, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if _, known := enroll.ClientNamed("emacs"); known {
		t.Error("an unknown client has a name")
	}
	if none, err := enroll.Find(enroll.Env{}); err != nil || len(none) > 0 {
		t.Errorf("an empty Env finds %v, %v", none, err)
	}
}

func TestDiffShowsSeparateChangesInSeparateHunks(t *testing.T) {
	padding := strings.Repeat("\n", 12)
	c := plan(t, place(t, "cursor", "{\"mcpServers\": {\n\"a\": {\"command\": \"a\"},"+padding+"\"b\": {\"command\": \"b\"}}}"), enroll.Options{})
	_, body, _ := strings.Cut(c.Diff(), "@@")
	want := ` -1,5 +1,5 @@
 {"mcpServers": {
-"a": {"command": "a"},
+"a": {"command": "deed", "args": ["mcp", "--name", "a", "--", "a"]},
 
 
 
@@ -11,4 +11,4 @@
 
 
 
-"b": {"command": "b"}}}
\ No newline at end of file
+"b": {"command": "deed", "args": ["mcp", "--name", "b", "--", "b"]}}}
\ No newline at end of file
`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("diff (-want +got):\n%s", diff)
	}
}
