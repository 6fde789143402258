// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/deed-run/deed/internal/cli"
)

var (
	listed  = regexp.MustCompile(`(?m)^  ([a-z-]+) +\S`)
	topic   = regexp.MustCompile(`(?m)^  deed ([a-z-]+) `)
	flag    = regexp.MustCompile(`(?m)^ +(?:-[a-z], )?--([a-z-]+)`)
	section = regexp.MustCompile("(?m)^#{2,3} `deed ([a-z -]+)`$")
	// quoted finds commands in code: a word after "deed" that is no flag.
	quoted = regexp.MustCompile("`deed ([a-z-]+(?: [a-z-]+)?)")
	typed  = regexp.MustCompile(`(?m)^\$ deed ([a-z-]+(?: [a-z-]+)?)`)
)

// help is what a command says of itself.
func help(t *testing.T, command ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	code := cli.Run(context.Background(), cli.Process{
		Args: append(slices.Clone(command), "--help"), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &problems,
	})
	if code != 0 {
		t.Fatalf("deed %s --help: exit code %d, %s", strings.Join(command, " "), code, problems.String())
	}
	return out.String()
}

// commands returns every command with its flags, as "ops list".
func commands(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	var visit func(command []string)
	visit = func(command []string) {
		text := help(t, command...)
		if len(command) > 0 {
			for _, m := range flag.FindAllStringSubmatch(text, -1) {
				if m[1] != "help" && m[1] != "json" {
					all[strings.Join(command, " ")] = append(all[strings.Join(command, " ")], m[1])
				}
			}
			if _, ok := all[strings.Join(command, " ")]; !ok {
				all[strings.Join(command, " ")] = nil
			}
			if !strings.Contains(text, "Available Commands:") {
				return
			}
		}
		for _, m := range listed.FindAllStringSubmatch(text, -1) {
			if m[1] != "deed" && m[1] != "help" {
				visit(append(slices.Clone(command), m[1]))
			}
		}
	}
	visit(nil)
	// It is left out of the list of commands.
	help(t, "completion")
	all["completion"] = nil
	for _, m := range topic.FindAllStringSubmatch(help(t), -1) {
		if _, ok := all[m[1]]; !ok {
			all[m[1]] = nil
		}
	}
	return all
}

func TestTheReferenceHasEveryCommandAndFlag(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	places := section.FindAllStringSubmatchIndex(text, -1)
	described := map[string]string{}
	for i, at := range places {
		end := len(text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		described[text[at[2]:at[3]]] = text[at[1]:end]
	}
	all := commands(t)
	if len(all) < 15 {
		t.Fatalf("only %d commands were found in the help", len(all))
	}
	for command, flags := range all {
		body, ok := described[command]
		if !ok {
			t.Errorf("docs/cli.md has no section `deed %s`", command)
			continue
		}
		for _, f := range flags {
			if !strings.Contains(body, "`--"+f) {
				t.Errorf("docs/cli.md: section `deed %s` does not mention --%s", command, f)
			}
		}
	}
	for command := range described {
		if _, ok := all[command]; !ok {
			t.Errorf("docs/cli.md describes `deed %s`, which does not exist", command)
		}
	}
}

// Commands that pages tell people to type exist.
func TestCommandsInThePagesExist(t *testing.T) {
	all := commands(t)
	exists := func(words string) bool {
		first, second, _ := strings.Cut(words, " ")
		if strings.HasPrefix(second, "-") {
			words = first
		}
		if _, ok := all[words]; ok || first == "help" {
			return true
		}
		if _, ok := all[first]; !ok {
			return false
		}
		for command := range all {
			if strings.HasPrefix(command, first+" ") {
				// A group: its second word must be one of its commands.
				return words == first
			}
		}
		return true
	}
	for _, d := range documents(t) {
		for _, pattern := range []*regexp.Regexp{quoted, typed} {
			for _, m := range pattern.FindAllStringSubmatch(d.text, -1) {
				if !exists(m[1]) {
					t.Errorf("%s tells to run deed %s, which does not exist", d.path, m[1])
				}
			}
		}
	}
}
