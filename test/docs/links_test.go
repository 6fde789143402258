// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\[([^\]\n]+)\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	named   = regexp.MustCompile("^`?((?:Test|Fuzz|Example|Benchmark)[A-Za-z0-9_]*)`?$")
	mention = regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9_]*)`")
)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, d := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(d.prose(), -1) {
			text, target := m[1], m[2]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			if file == "" {
				file = path.Base(d.path)
			}
			place := path.Join(path.Dir(d.path), file)
			if strings.HasPrefix(place, "..") {
				t.Errorf("%s: [%s](%s) leads out of the repository", d.path, text, target)
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(place))); err != nil {
				t.Errorf("%s: [%s](%s): there is no %s", d.path, text, target, place)
				continue
			}
			if anchor != "" && strings.HasSuffix(place, ".md") && !anchors(t, place)[anchor] {
				t.Errorf("%s: [%s](%s): %s has no heading with that name", d.path, text, target, place)
			}
		}
	}
}

// A link to a test file names tests of that file.
func TestNamedTestsExist(t *testing.T) {
	found := 0
	for _, d := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(d.prose(), -1) {
			name := named.FindStringSubmatch(m[1])
			if name == nil {
				if strings.HasSuffix(m[2], "_test.go") {
					t.Errorf("%s: [%s](%s) links a test file without naming a test", d.path, m[1], m[2])
				}
				continue
			}
			found++
			if !functions(t, path.Join(path.Dir(d.path), m[2]))[name[1]] {
				t.Errorf("%s: there is no %s in %s", d.path, name[1], m[2])
			}
		}
		unlinked := link.ReplaceAllString(d.prose(), "")
		for _, m := range mention.FindAllStringSubmatch(unlinked, -1) {
			t.Errorf("%s names %s without a link to its file", d.path, m[1])
		}
	}
	if found < 50 {
		t.Errorf("only %d tests are named: is the pattern still right?", found)
	}
}

// anchors are the names that GitHub gives to a page's headings.
func anchors(t *testing.T, place string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(place)))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(document{text: string(data)}.prose(), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r > 127:
				return r
			}
			return -1
		}, strings.ToLower(m[1]))
		names[name] = true
	}
	return names
}

// functions are the functions of a Go file.
func functions(t *testing.T, place string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	if !strings.HasSuffix(place, ".go") {
		return names
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(place)), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return names
	}
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil {
			names[f.Name.Name] = true
		}
	}
	return names
}
