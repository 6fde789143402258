// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// errByHand: the file is written in a way that a rule cannot be inserted into.
var errByHand = errors.New("its entry is written in a way that cannot be edited")

// insertFailedRule adds a failed: rule to the entry of a tool and changes no
// other byte of the file. Whoever calls it reads the result again to see that it
// says what was meant.
func insertFailedRule(doc []byte, tool, pattern string, final bool) ([]byte, error) {
	file, err := parser.ParseBytes(doc, 0)
	if err != nil || len(file.Docs) != 1 {
		return nil, errByHand
	}
	e := &fileEdit{doc: doc, newline: "\n"}
	if strings.Contains(string(doc), "\r\n") {
		e.newline = "\r\n"
	}
	root, ok := file.Docs[0].Body.(*ast.MappingNode)
	if !ok {
		return nil, errByHand
	}
	e.quoted = root.IsFlowStyle
	rule := e.rule(pattern, final)
	tools, known := member(root, "tools")
	if !known {
		return e.into(root, "tools", "{"+e.name(tool, true)+": {"+e.name("failed", false)+": ["+rule+"]}}")
	}
	entries, ok := tools.(*ast.MappingNode)
	if !ok {
		return nil, errByHand
	}
	entry, known := member(entries, tool)
	if !known {
		return e.into(entries, tool, "{"+e.name("failed", false)+": ["+rule+"]}")
	}
	fields, ok := entry.(*ast.MappingNode)
	if !ok {
		return nil, errByHand
	}
	failed, known := member(fields, "failed")
	if !known {
		return e.into(fields, "failed", "["+rule+"]")
	}
	list, ok := failed.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 && !list.IsFlowStyle {
		return nil, errByHand
	}
	if list.IsFlowStyle {
		if len(list.Values) > 0 {
			rule = ", " + rule
		}
		return e.at(list.End.Position, rule)
	}
	return e.afterLine(lastLine(list), strings.Repeat(" ", list.Start.Position.Column-1)+"- "+rule)
}

// fileEdit inserts text into a file.
type fileEdit struct {
	doc     []byte
	newline string
	// quoted: the file is JSON, or written like it.
	quoted bool
}

func (e *fileEdit) rule(pattern string, final bool) string {
	text := "{" + e.name("text", false) + ": " + jsonText(pattern)
	if final {
		text += ", " + e.name("final", false) + ": true"
	}
	return text + "}"
}

// name writes a key; the name of a tool is quoted where YAML could misread it.
func (e *fileEdit) name(key string, foreign bool) string {
	plainWord := !strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-./", r)
	})
	if e.quoted || foreign && !plainWord {
		return jsonText(key)
	}
	return key
}

// jsonText is a text as JSON and as YAML in double quotes.
func jsonText(text string) string {
	var b strings.Builder
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	_ = out.Encode(text)
	return strings.TrimSuffix(b.String(), "\n")
}

// into adds a member to a mapping, before its first.
func (e *fileEdit) into(m *ast.MappingNode, key, value string) ([]byte, error) {
	text := e.name(key, true) + ": " + value
	if m.IsFlowStyle {
		if len(m.Values) > 0 {
			text += ", "
		}
		at := *m.Start.Position
		at.Column++
		return e.at(&at, text)
	}
	if len(m.Values) == 0 {
		return nil, errByHand
	}
	first := m.Values[0].Key.GetToken().Position
	return e.at(first, text+e.newline+strings.Repeat(" ", first.Column-1))
}

// at inserts at a line and column, both from 1, a column being a letter.
func (e *fileEdit) at(p *token.Position, text string) ([]byte, error) {
	start, ok := e.lineStart(p.Line)
	for range p.Column - 1 {
		if !ok || start >= len(e.doc) || e.doc[start] == '\n' {
			return nil, errByHand
		}
		_, size := utf8.DecodeRune(e.doc[start:])
		start += size
	}
	if !ok {
		return nil, errByHand
	}
	return e.insert(start, text), nil
}

func (e *fileEdit) afterLine(line int, text string) ([]byte, error) {
	start, ok := e.lineStart(line + 1)
	if ok {
		return e.insert(start, text+e.newline), nil
	}
	return e.insert(len(e.doc), e.newline+text), nil
}

func (e *fileEdit) insert(at int, text string) []byte {
	out := append([]byte{}, e.doc[:at]...)
	return append(append(out, text...), e.doc[at:]...)
}

// lineStart is the offset at which a line begins, false where the file ends
// before it does.
func (e *fileEdit) lineStart(line int) (int, bool) {
	start := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(string(e.doc[start:]), '\n')
		if i < 0 {
			return 0, false
		}
		start += i + 1
	}
	return start, true
}

func member(m *ast.MappingNode, key string) (ast.Node, bool) {
	for _, v := range m.Values {
		if name := v.Key.GetToken(); name != nil && name.Value == key {
			return v.Value, true
		}
	}
	return nil, false
}

// lastLine is the last line on which something of a node stands.
func lastLine(n ast.Node) int {
	walk := &lines{}
	ast.Walk(walk, n)
	return walk.last
}

type lines struct{ last int }

func (l *lines) Visit(n ast.Node) ast.Visitor {
	tokens := []*token.Token{n.GetToken()}
	switch n := n.(type) {
	case *ast.MappingNode:
		tokens = append(tokens, n.End)
	case *ast.SequenceNode:
		tokens = append(tokens, n.End)
	}
	for _, t := range tokens {
		if t != nil && t.Position != nil {
			l.last = max(l.last, t.Position.Line)
		}
	}
	return l
}
