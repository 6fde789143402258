// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"slices"
	"strings"
)

// entry is one server of a configuration file with what is needed to put deed
// before it and to take it out again.
type entry struct {
	name   string
	offset int // where the entry starts, for line numbers
	fields map[string]node

	malformed string // why it is no server entry at all, empty when it is one

	// A missing args array is written at insertAt, after insertText. An args
	// array that stands right behind command, as written there, can be taken
	// out again from removeFrom on; removeFrom is -1 where it cannot.
	insertAt   int
	insertText string
	removeFrom int
}

// document is a parsed configuration file.
type document struct {
	src     []byte
	entries []entry
	quote   func(string) string
}

func (d document) entry(name string) (entry, bool) {
	i := slices.IndexFunc(d.entries, func(e entry) bool { return e.name == name })
	if i < 0 {
		return entry{}, false
	}
	return d.entries[i], true
}

func (d document) raw(n node) string { return string(d.src[n.start:n.end]) }

func parse(format format, section string, src []byte) (document, error) {
	switch format {
	case tomlFile:
		return parseTOML(section, src)
	default:
		return parseJSON(section, src, format == commentedJSON)
	}
}

// command returns the words of a local server: its command, then its arguments.
// problem says why there are none.
func (e entry) command() (words []string, problem string) {
	command, ok := e.fields["command"]
	switch {
	case e.malformed != "":
		return nil, e.malformed
	case !ok:
		return nil, "it has no command"
	case command.kind != stringNode || strings.TrimSpace(command.text) == "":
		return nil, "its command is not a text"
	}
	words = []string{command.text}
	if args, ok := e.fields["args"]; ok {
		texts, ok := args.texts()
		if !ok {
			return nil, "its args are not an array of texts"
		}
		words = append(words, texts...)
	}
	return words, ""
}

// remote returns the member that makes the entry a remote server.
func (e entry) remote() (string, bool) {
	for _, key := range []string{"url", "httpUrl", "serverUrl", "tcp"} {
		if n, ok := e.fields[key]; ok && n.kind == stringNode {
			return key, true
		}
	}
	switch kind := e.fields["type"].text; kind {
	case "http", "sse", "streamable-http", "streamableHttp", "ws", "websocket":
		return "type " + kind, true
	}
	return "", false
}

func (e entry) disabled() bool {
	return e.fields["disabled"].text == "true" || e.fields["enabled"].text == "false"
}
