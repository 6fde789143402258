// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Kinds of connectors.
const (
	ConnectorHTTP = "http"
	ConnectorMail = "mail"
)

// Connector is a description of tools that deed makes itself, of a plain HTTP
// API or of a mail account. It is handed on unread: what reads it says what is
// wrong with it, at its place in the file.
type Connector struct {
	Name string
	// Kind is [ConnectorHTTP] or [ConnectorMail].
	Kind string
	// Source is YAML: from the file itself, with its columns, or a file of its
	// own. Line is the line of File in which it begins.
	Source []byte
	File   string
	Line   int
	// Account, when it is a plain text in the description, says where effects go.
	Account string
}

func connectorKeys() []key[Connector] {
	kind := func(name string) key[Connector] {
		return key[Connector]{name: name, read: func(d *decoder, at place, into *Connector) {
			if into.Kind != "" {
				d.refuse(at, "stands beside "+into.Kind, "keep one of the two")
				return
			}
			into.Kind = name
			d.described(at, into)
		}}
	}
	return []key[Connector]{kind(ConnectorHTTP), kind(ConnectorMail)}
}

func (d *decoder) connectors(at place, config *Config) {
	for _, e := range d.entries(at) {
		before := len(d.found)
		named := d.upstreamName(e)
		if _, taken := config.Upstreams[e.name]; taken {
			d.refuse(e.key, "has the name of an upstream, so that both own the same tools", "write another name")
			named = false
		}
		connector := Connector{Name: e.name}
		block(d, e.value, connectorKeys(), &connector)
		if !named {
			continue
		}
		if len(d.found) == before && connector.Kind == "" {
			d.refuse(e.value, "describes nothing", "write http: or mail:, and the description or the name of a file that holds it")
		}
		if len(d.found) == before {
			d.describe(e, connector)
		}
		config.Connectors[e.name] = connector
	}
}

// described reads a description in the file, or the name of another file.
func (d *decoder) described(at place, into *Connector) {
	if !isBlock(at) {
		var name string
		if d.folder(at, &name); name == "" {
			return
		}
		into.File, into.Line = under(d.config.Folder, name), 1
		data, err := os.ReadFile(into.File)
		switch {
		case err != nil:
			d.refuse(at, "cannot be read: "+reasonOf(err), "write the path of a description, from the folder of this file")
		case len(data) > maxFileBytes:
			d.refuse(at, "holds more than a description should", "write less than 1 MiB")
		default:
			if wrong, line, column := unreadable(data); wrong != "" {
				d.found = append(d.found, Problem{File: into.File, Line: line, Column: column, Wrong: wrong, Remedy: "write YAML in UTF-8"})
			}
		}
		into.Source = data
		return
	}
	into.File = d.file
	into.Source, into.Line = d.subtree(at)
	if account, ok := d.written(at, "account"); ok {
		if text, ok := written(account.node); ok && !strings.Contains(text, "${") {
			into.Account = text
		}
	}
}

// reasonOf is why a file could not be read, without its path.
func reasonOf(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no such file"
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// subtree is the text of a block as it stands in the file, its columns kept.
func (d *decoder) subtree(at place) (source []byte, line int) {
	line, column := position(at.node)
	lines := strings.SplitAfter(string(d.data), "\n")
	if line > len(lines) {
		return nil, line
	}
	if mapping, ok := at.node.(*ast.MappingNode); ok && mapping.IsFlowStyle {
		first := []rune(lines[line-1])
		rest := string(first[min(column-1, len(first)):]) + strings.Join(lines[line:], "")
		return []byte(strings.Repeat(" ", column-1) + flow(rest)), line
	}
	var b strings.Builder
	for _, text := range lines[line-1:] {
		plain := strings.TrimLeft(text, " ")
		if content := strings.TrimSpace(plain); content != "" && !strings.HasPrefix(content, "#") && len(text)-len(plain) < column-1 {
			break
		}
		b.WriteString(text)
	}
	return []byte(b.String()), line
}

// flow is the text up to the bracket that closes the first one.
func flow(text string) string {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return text[:i+1]
			}
		case (c == '"' || c == '\'') && i > 0 && strings.IndexByte(" \t\n,[{:", text[i-1]) >= 0:
			for i++; i < len(text) && text[i] != c; i++ {
				if c == '"' && text[i] == '\\' {
					i++
				}
			}
		case c == '#' && i > 0 && strings.IndexByte(" \t\n", text[i-1]) >= 0:
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		}
	}
	return text
}

// Base is the folder from which relative paths of a description start.
func (c Connector) Base() string { return filepath.Dir(c.File) }
