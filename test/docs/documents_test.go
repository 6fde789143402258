// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package docs_test holds the documentation to the truth: its links lead
// somewhere, the tests that it names exist, its commands, configurations and
// programs are accepted by the code. It judges no prose.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the repository, seen from this folder.
const root = "../.."

// document is one page of documentation.
type document struct {
	// path is relative to the repository, with slashes.
	path string
	text string
}

// documents returns the pages at the root and below docs.
func documents(t *testing.T) []document {
	t.Helper()
	var list []document
	add := func(path string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, document{filepath.ToSlash(relative), string(data)})
	}
	pages, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		add(page)
	}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			add(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 10 {
		t.Fatalf("only %d pages were found below %s", len(list), root)
	}
	return list
}

// block is a fenced block of code.
type block struct {
	document string
	language string
	text     string
}

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// blocks returns the fenced blocks of a page in one language.
func (d document) blocks(language string) []block {
	var list []block
	for _, m := range fence.FindAllStringSubmatch(d.text, -1) {
		if m[1] == language {
			list = append(list, block{d.path, m[1], m[2]})
		}
	}
	return list
}

// prose is the page without its fenced blocks.
func (d document) prose() string { return fence.ReplaceAllString(d.text, "") }
