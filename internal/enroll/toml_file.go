// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"bytes"
	"fmt"
	"strings"
)

func parseTOML(section string, src []byte) (document, error) {
	doc := document{src: src, quote: quoteTOML}
	scan, err := scanTOML(src)
	if err != nil {
		return doc, err
	}
	b := tomlEntries{src: src, section: section, index: map[string]int{}}
	for i, t := range scan.tables {
		if err := b.header(t, scan.tables[:i]); err != nil {
			return doc, err
		}
	}
	for _, s := range scan.statements {
		if err := b.assign(s.path, s.line, node{}); err != nil {
			return doc, err
		}
	}
	for i := range b.entries {
		b.place(&b.entries[i])
	}
	doc.entries = b.entries
	return doc, nil
}

// tomlEntries gathers the servers of a file, whichever way it spells them:
// tables, dotted keys or inline tables.
type tomlEntries struct {
	src     []byte
	section string
	entries []entry
	index   map[string]int
	sources []map[string]tomlSource // beside entries
}

// tomlSource is where a field was written: in which inline table, if any.
type tomlSource struct {
	line   member
	inline node
}

func (b *tomlEntries) header(t table, earlier []table) error {
	if t.path[0] != b.section || len(t.path) > 2 {
		return nil
	}
	if t.array {
		return shapeError(t.start, "[[%s]] is an array of tables, which is no list of servers", strings.Join(t.path, "."))
	}
	for _, other := range earlier {
		if strings.Join(other.path, "\x00") == strings.Join(t.path, "\x00") {
			return shapeError(t.start, "the table [%s] appears twice", strings.Join(t.path, "."))
		}
	}
	if len(t.path) == 2 {
		b.open(t.path[1], t.start)
	}
	return nil
}

func (b *tomlEntries) open(name string, offset int) int {
	if i, ok := b.index[name]; ok {
		return i
	}
	b.index[name] = len(b.entries)
	b.entries = append(b.entries, entry{name: name, offset: offset, fields: map[string]node{}, removeFrom: -1})
	b.sources = append(b.sources, map[string]tomlSource{})
	return len(b.entries) - 1
}

// assign files one value under its full path, looking into inline tables.
func (b *tomlEntries) assign(path []string, line member, inline node) error {
	if path[0] != b.section {
		return nil
	}
	if len(path) < 3 && line.value.kind != objectNode {
		return shapeError(line.keyStart, "%s is not a table of servers", strings.Join(path, "."))
	}
	if len(path) == 2 {
		b.open(path[1], line.keyStart)
	}
	if len(path) < 3 {
		for _, m := range line.value.members {
			if err := b.assign(append(append([]string{}, path...), m.key...), m, line.value); err != nil {
				return err
			}
		}
		return nil
	}
	i, field := b.open(path[1], line.keyStart), path[2]
	if len(path) > 3 {
		return nil
	}
	if _, twice := b.entries[i].fields[field]; twice {
		return shapeError(line.keyStart, "%s appears twice", strings.Join(path, "."))
	}
	b.entries[i].fields[field] = line.value
	b.sources[i][field] = tomlSource{line: line, inline: inline}
	return nil
}

// place works out where an args array goes when there is none, and whether the
// one there is can be taken out.
func (b *tomlEntries) place(e *entry) {
	sources := b.sources[b.index[e.name]]
	command, ok := sources["command"]
	if !ok {
		return
	}
	args, hasArgs := sources["args"]
	key := string(b.src[command.line.keyStart:command.line.keyEnd])
	for _, spelling := range []string{`"command"`, `'command'`, "command"} {
		if prefix, ok := strings.CutSuffix(key, spelling); ok {
			key = prefix + "args"
			break
		}
	}
	end := command.line.value.end
	if command.inline.kind == objectNode {
		e.insertAt, e.insertText = end, ", "+key+" = "
		if hasArgs && args.line.keyStart > end && strings.TrimSpace(string(b.src[end:args.line.keyStart])) == "," {
			e.removeFrom = end
		}
		return
	}
	lineEnd, newline := b.lineEnd(end)
	e.insertAt = lineEnd
	e.insertText = newline + b.indent(command.line.keyStart) + key + " = "
	if !hasArgs || args.inline.kind == objectNode {
		return
	}
	begin := args.line.keyStart - len(b.indent(args.line.keyStart))
	if bytes.HasPrefix(b.src[lineEnd:], []byte(newline)) && begin == lineEnd+len(newline) {
		e.removeFrom = lineEnd
	}
}

// lineEnd returns where the line around offset ends, before its newline, and how
// this file ends lines.
func (b *tomlEntries) lineEnd(offset int) (int, string) {
	newline := "\n"
	if bytes.Contains(b.src, []byte("\r\n")) {
		newline = "\r\n"
	}
	i := bytes.IndexByte(b.src[offset:], '\n')
	if i < 0 {
		return len(b.src), newline
	}
	end := offset + i
	if end > offset && b.src[end-1] == '\r' {
		return end - 1, "\r\n"
	}
	return end, newline
}

func (b *tomlEntries) indent(offset int) string {
	return string(b.src[len(bytes.TrimRight(b.src[:offset], " \t")):offset])
}

func quoteTOML(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&out, `\u%04X`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
