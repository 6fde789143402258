// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deed-run/deed/internal/enroll"
)

func TestAFileThatCannotBeEditedSafelyIsRefusedWithItsLineAndARemedy(t *testing.T) {
	deep := strings.Repeat("[", 300)
	tests := []struct {
		name, client, content string
		line                  int
		problem               string
	}{
		{"an empty file", "claude-code", "", 1, "the file is empty"},
		{"only blanks", "claude-code", "\n\n", 3, "the file is empty"},
		{"a missing bracket", "claude-code", "{\n\"mcpServers\": {\n", 2, "the bracket '{' opened here is never closed"},
		{"a missing comma", "claude-code", "{\n\"a\": 1\n\"b\": 2}", 3, "expected ',' or '}', found '\"'"},
		{"a missing colon", "claude-code", "{\n\"a\" 1}", 2, "expected ':' after the member name \"a\", found '1'"},
		{"a missing value", "claude-code", "{\n\"a\":\n}", 3, "expected a value, found '}'"},
		{"a bare word", "cursor", "{\n\"a\": yes}", 2, "expected a value, found 'y'"},
		{"an open string", "claude-code", "{\n\"a\": \"x\n}", 2, "the string is not closed on its line"},
		{"a bad escape", "claude-code", "{\n\"a\": \"\\q\"}", 2, "the string is not valid"},
		{"text after the end", "claude-code", "{}\n{}", 2, "more text after the end"},
		{"a comment where the client takes none", "claude-desktop", "{\n// note\n}", 2, "a comment, which this client does not accept"},
		{"a trailing comma where the client takes none", "claude-desktop", "{\"a\": 1,\n}", 1, "a comma before '}', which this client does not accept"},
		{"an open comment", "vscode", "{\n/* note }", 2, "the comment is never closed"},
		{"hostile nesting", "vscode", deep, 1, "nested deeper than 200 levels"},
		{"an array instead of an object", "claude-code", "[]", 1, "the file is not a JSON object"},
		{"servers as a list", "claude-code", "{\n\"mcpServers\": []}", 2, "\"mcpServers\" is not an object of servers"},
		{"two sections", "vscode", "{\"servers\": {},\n\"servers\": {}}", 2, "\"servers\" appears twice"},
		{"two servers of one name", "vscode", "{\"servers\": {\"a\": {},\n\"a\": {}}}", 2, "\"a\" appears twice"},
		{"two commands", "vscode", "{\"servers\": {\"a\": {\"command\": \"x\",\n\"command\": \"y\"}}}", 2, "\"command\" appears twice"},
		{"UTF-16", "claude-code", "\xff\xfe{\x00}\x00", 1, "encoded in UTF-16"},
		{"Latin-1", "claude-code", "{\n\"a\": \"\xfc\"}", 2, "not encoded in UTF-8"},
		{"a NUL byte", "claude-code", "{}\n\x00", 2, "contains a NUL byte"},
		{"TOML: an array of tables", "codex", "\n[[mcp_servers]]\nname = 'x'\n", 2, "[[mcp_servers]] is an array of tables"},
		{"TOML: a table twice", "codex", "[mcp_servers.a]\n[mcp_servers.b]\n[mcp_servers.a]\n", 3, "[mcp_servers.a] appears twice"},
		{"TOML: a key twice", "codex", "[mcp_servers.a]\ncommand = 'x'\ncommand = 'y'\n", 3, "mcp_servers.a.command appears twice"},
		{"TOML: servers that are no table", "codex", "mcp_servers = 1\n", 1, "mcp_servers is not a table of servers"},
		{"TOML: an open array", "codex", "a = 1\nb = [1,\n2", 2, "the array is never closed"},
		{"TOML: an open string", "codex", "a = 1\nb = \"x\n", 2, "the string is not closed on its line"},
		{"TOML: an open multi-line string", "codex", "a = 1\nb = '''x\n", 2, "the string is never closed"},
		{"TOML: a missing value", "codex", "a =\n", 1, "expected a value"},
		{"TOML: a missing equals sign", "codex", "a = 1\nb\n", 2, "expected '=' after the key"},
		{"TOML: two statements on a line", "codex", "a = 'x' b = 1\n", 1, "expected the end of the line"},
		{"TOML: an open header", "codex", "[mcp_servers.a\n", 1, "the table header is not closed"},
		{"TOML: a bad escape", "codex", "a = \"\\q\"\n", 1, "an escape TOML does not know"},
		{"TOML: hostile nesting", "codex", "a = " + deep, 1, "nested deeper than 200 levels"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			target := place(t, tt.client, tt.content)
			_, planErr := enroll.Plan(target, enroll.Options{})
			_, undoErr := enroll.Undo(target, enroll.Options{})
			for what, err := range map[string]error{"plan": planErr, "undo": undoErr} {
				var refused *enroll.FileError
				if !errors.As(err, &refused) {
					t.Fatalf("%s: got %v, want a FileError", what, err)
				}
				if refused.Path != target.Path || refused.Line != tt.line || !strings.Contains(refused.Problem, tt.problem) || refused.Remedy == "" {
					t.Errorf("%s: got %+v, want line %d and %q", what, refused, tt.line, tt.problem)
				}
				if !strings.Contains(err.Error(), "nothing was changed") {
					t.Errorf("%s: %q does not say that nothing was changed", what, err)
				}
			}
			if read(t, target.Path) != tt.content {
				t.Error("the file was changed")
			}
		})
	}
}

func TestAMissingFileAFolderAndADanglingLinkAreNamed(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(filepath.Join(dir, "gone.json"), link); err != nil {
		t.Fatal(err)
	}
	client, _ := enroll.ClientNamed("cursor")
	tests := []struct{ name, path, problem string }{
		{"missing", filepath.Join(dir, "mcp.json"), "there is no such file"},
		{"a folder", dir, "this is not a regular file"},
		{"a dangling link", link, "the file is a link to " + filepath.Join(dir, "gone.json") + ", which does not exist"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := enroll.Plan(enroll.Target{Client: client, Path: tt.path}, enroll.Options{})
			if err == nil || !strings.HasPrefix(err.Error(), tt.path+": "+tt.problem) {
				t.Errorf("got %v, want %q", err, tt.problem)
			}
			if tt.name != "a folder" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v does not wrap fs.ErrNotExist", err)
			}
		})
	}
}

func TestAnEntryThatIsNoPlainServerIsLeftWithAReason(t *testing.T) {
	tests := []struct {
		name, entry string
		kind        enroll.NoteKind
		reason      string
	}{
		{"not an object", `"npx"`, enroll.NoteUnsupported, "it is not an object"},
		{"no command", `{"args": ["x"]}`, enroll.NoteUnsupported, "it has no command"},
		{"a command that is a list", `{"command": ["npx"]}`, enroll.NoteUnsupported, "its command is not a text"},
		{"an empty command", `{"command": " "}`, enroll.NoteUnsupported, "its command is not a text"},
		{"args that are a text", `{"command": "npx", "args": "-y"}`, enroll.NoteUnsupported, "its args are not an array of texts"},
		{"args with a number", `{"command": "npx", "args": [1]}`, enroll.NoteUnsupported, "its args are not an array of texts"},
		{"command and url", `{"command": "npx", "url": "http://x"}`, enroll.NoteUnsupported, "it has a command and also url"},
		{"an unknown type", `{"type": "sdk", "command": "x"}`, enroll.NoteUnsupported, `its type "sdk" is not known`},
		{"http by type", `{"type": "http"}`, enroll.NoteRemote, "a remote server (type http) has no command to put deed in front of"},
		{"wrapped by hand", `{"command": "/usr/local/bin/deed", "args": ["mcp", "--", "x"]}`, enroll.NoteWrapped, "it runs through deed already"},
		{"wrapped on Windows", `{"command": "C:\\deed\\Deed.EXE", "args": ["mcp", "--name", "--", "--", "x"]}`, enroll.NoteWrapped, "it runs through deed already"},
		{"deed with its own configuration", `{"command": "deed", "args": ["mcp", "--config", "deed.yaml"]}`, enroll.NoteWrapped, "it runs through deed already, without a command of its own"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			target := place(t, "cursor", "{\"mcpServers\": {\n\"x\": "+tt.entry+",\n\"good\": {\"command\": \"y\"}}}")
			c := plan(t, target, enroll.Options{})
			if len(c.Left) != 1 || c.Left[0].Kind != tt.kind || c.Left[0].Reason != tt.reason || c.Left[0].Line != 2 || c.Left[0].Server != "x" {
				t.Errorf("got %+v, want %s: %s", c.Left, tt.kind, tt.reason)
			}
			if len(c.Wrapped) != 1 || c.Wrapped[0] != "good" {
				t.Errorf("the other server was not wrapped: %q", c.Wrapped)
			}
			if !strings.Contains(string(c.After), "\"x\": "+tt.entry+",") {
				t.Errorf("the entry was changed: %s", c.After)
			}
		})
	}
	for _, name := range []string{"", "a${HOME}"} {
		c := plan(t, place(t, "cursor", `{"mcpServers": {"`+name+`": {"command": "x"}}}`), enroll.Options{})
		if !c.Empty() || !hasNote(c.Left, enroll.NoteUnsupported, name) {
			t.Errorf("a server named %q was not left alone: %+v", name, c.Left)
		}
	}
}

func TestAFileWithoutServersNeedsNoChange(t *testing.T) {
	for client, content := range map[string]string{"gemini": `{"theme": "x"}`, "codex": "model = 'x'\n", "vscode": `{"servers": {}}`} {
		c := plan(t, place(t, client, content), enroll.Options{})
		if !c.Empty() || c.Diff() != "" || apply(t, c) != "" {
			t.Errorf("%s: a file without servers would change: %s", client, c.Diff())
		}
	}
}
