// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxFileBytes bounds a configuration file.
const maxFileBytes = 1 << 20

// Load reads the configuration file at path. env resolves variables, as
// os.Getenv does; nil knows none. What is wrong with the file is an [*Error];
// other errors mean that it could not be read.
func Load(path string, env func(string) string) (*Config, error) {
	return LoadWith(path, Options{Env: env})
}

// Options are what a file is read with. The zero value knows no variables and
// no providers.
type Options struct {
	// Env resolves variables, as os.Getenv does.
	Env func(name string) string
	// Catalogue finds what is known of a provider's operation, such as
	// "stripe/refund": the block of a tool's entry as YAML.
	Catalogue func(name string) ([]byte, bool)
	// Describe reads a connector's description and returns, for each of its tools,
	// what that says of guarding: the block of a tool's entry as YAML, which holds
	// as if it had been written, below the keys of an entry that was. Its error
	// says where the description is wrong. Nil leaves connectors unread.
	Describe func(connector Connector) (map[string][]byte, error)
}

// LoadWith is [Load] with more than variables.
func LoadWith(path string, options Options) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration not read, nothing started: %w", err)
	}
	return ParseWith(path, data, options)
}

// Parse is [Load] for bytes that the caller has. name is used in problems, and
// its folder is what relative paths start from.
func Parse(name string, data []byte, env func(string) string) (*Config, error) {
	return ParseWith(name, data, Options{Env: env})
}

// ParseWith is [LoadWith] for bytes that the caller has.
func ParseWith(name string, data []byte, options Options) (*Config, error) {
	env := options.Env
	if env == nil {
		env = func(string) string { return "" }
	}
	folder, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("finding the folder of %s: %w", name, err)
	}
	config := defaultConfig()
	d := &decoder{file: name, env: env, config: config, options: options}
	config.File, config.Folder = name, folder
	if root, ok := d.document(data); ok {
		file := fileReader{config: config}
		block(d, root, fileKeys(), &file)
		d.checkConfig(root, config)
	}
	if len(d.found) > 0 {
		return nil, problemsOf(d.found)
	}
	config.Revision = revisionOf(config)
	return config, nil
}

// document parses the one YAML document of the file. ok is false when there is
// nothing to read on.
func (d *decoder) document(data []byte) (root place, ok bool) {
	whole := func(line, column int, wrong, remedy string) {
		d.found = append(d.found, Problem{File: d.file, Line: line, Column: column, Wrong: wrong, Remedy: remedy})
	}
	if len(data) > maxFileBytes {
		whole(1, 1, fmt.Sprintf("the file has more than %d bytes", maxFileBytes), "write less")
		return place{}, false
	}
	// Editors of Windows begin UTF-8 files with a byte order mark.
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	d.data = data
	if wrong, line, column := unreadable(data); wrong != "" {
		whole(line, column, wrong, "write YAML in UTF-8")
		return place{}, false
	}
	file, err := parseYAML(data)
	if err != nil {
		line, column, message := syntaxProblem(err)
		whole(line, column, "not YAML: "+message, "check quotes, brackets and indentation there")
		return place{}, false
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) == 0 {
		return place{}, false
	}
	if len(bodies) > 1 {
		d.refuse(place{bodies[1], ""}, "a second document begins here", "keep one document per file")
		return place{}, false
	}
	return place{bodies[0], ""}, true
}

// parseYAML turns a panic of the YAML reader into an error: a file must never
// bring the program down.
func parseYAML(data []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("the YAML reader gave up (%v)", p)
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

func syntaxProblem(err error) (line, column int, message string) {
	var syntax *yaml.SyntaxError
	if !errors.As(err, &syntax) {
		return 1, 1, err.Error()
	}
	line, column, message = 1, 1, syntax.GetMessage()
	if t := syntax.GetToken(); t != nil && t.Position != nil {
		line, column = t.Position.Line, t.Position.Column
	}
	return line, column, message
}
