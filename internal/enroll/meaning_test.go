// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deed-run/deed/internal/enroll"
)

// TestAnotherParserReadsTheSameFileButForTheWrappedServers reads both texts with
// encoding/json, makes the intended change in the decoded value, and compares.
func TestAnotherParserReadsTheSameFileButForTheWrappedServers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := &layout{t: rt}
		target := place(t, "claude-code", l.file("mcpServers"))
		c, err := enroll.Plan(target, enroll.Options{Binary: "/opt/<deed> & co/deed"})
		if err != nil {
			rt.Fatal(err)
		}
		want, got := decode(rt, c.Before), decode(rt, c.After)
		for _, name := range c.Wrapped {
			server := want["mcpServers"].(map[string]any)[name].(map[string]any)
			args := []any{"mcp", "--name", name, "--", server["command"]}
			if had, ok := server["args"].([]any); ok {
				args = append(args, had...)
			}
			server["command"], server["args"] = "/opt/<deed> & co/deed", args
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("decoded (-want +got):\n%s", diff)
		}
	})
}

func decode(rt *rapid.T, text []byte) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	decoder.UseNumber()
	var value map[string]any
	if err := decoder.Decode(&value); err != nil {
		rt.Fatalf("%v in %q", err, text)
	}
	return value
}

// FuzzPlan holds, for any bytes: a clear refusal, or a change that a second Plan
// adds nothing to and Undo takes back byte for byte.
func FuzzPlan(f *testing.F) {
	for _, client := range enroll.Clients() {
		files, err := filepath.Glob(filepath.Join("testdata", client.Name, "*.*"))
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds for %s: %v", client.Name, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(client.Name, data)
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if _, known := enroll.ClientNamed(name); !known {
			return
		}
		target := place(t, name, string(data))
		c, err := enroll.Plan(target, enroll.Options{})
		var refused *enroll.FileError
		if errors.As(err, &refused) {
			return
		}
		if err != nil {
			t.Fatalf("%v is no FileError", err)
		}
		apply(t, c)
		if again := plan(t, target, enroll.Options{}); !again.Empty() {
			t.Errorf("a second plan changes the file:\n%s", again.Diff())
		}
		if c.Empty() {
			return
		}
		apply(t, undone(t, target, enroll.Options{}))
		if read(t, target.Path) != string(data) {
			t.Errorf("undo did not give back the file %q", data)
		}
	})
}
