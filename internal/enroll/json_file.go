// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

func parseJSON(section string, src []byte, relaxed bool) (document, error) {
	doc := document{src: src, quote: quoteJSON}
	root, err := scanJSON(src, relaxed)
	if err != nil {
		return doc, err
	}
	if root.kind != objectNode {
		return doc, shapeError(root.start, "the file is not a JSON object")
	}
	if err := unique(root); err != nil {
		return doc, err
	}
	for _, m := range root.members {
		if m.key[0] != section {
			continue
		}
		if m.value.kind != objectNode {
			return doc, shapeError(m.keyStart, "the member %q is not an object of servers", section)
		}
		if err := unique(m.value); err != nil {
			return doc, err
		}
		for _, server := range m.value.members {
			e, err := jsonEntry(src, server)
			if err != nil {
				return doc, err
			}
			doc.entries = append(doc.entries, e)
		}
	}
	return doc, nil
}

func jsonEntry(src []byte, server member) (entry, error) {
	e := entry{name: server.key[0], offset: server.keyStart, fields: map[string]node{}, removeFrom: -1}
	if server.value.kind != objectNode {
		e.malformed = "it is not an object"
		return e, nil
	}
	if err := unique(server.value); err != nil {
		return e, err
	}
	for i, m := range server.value.members {
		e.fields[m.key[0]] = m.value
		switch {
		case m.key[0] == "command":
			e.insertAt, e.insertText = m.value.end, jsonInsert(src, m)
		case m.key[0] == "args" && i > 0 && server.value.members[i-1].key[0] == "command":
			before := server.value.members[i-1].value.end
			if strings.TrimSpace(string(src[before:m.keyStart])) == "," {
				e.removeFrom = before
			}
		}
	}
	return e, nil
}

// jsonInsert is the text between the command and an args array that follows it,
// spaced as the command itself is.
func jsonInsert(src []byte, command member) string {
	space := trailingSpace(src[:command.keyStart])
	if !strings.Contains(space, "\n") {
		space = " "
	}
	colon := string(src[command.keyEnd:command.value.start])
	if strings.TrimSpace(colon) != ":" || strings.Contains(colon, "\n") {
		colon = ": "
	}
	return "," + space + `"args"` + colon
}

// unique refuses an object in which one name stands twice: which of the two the
// client takes is not ours to guess.
func unique(object node) error {
	seen := map[string]bool{}
	for _, m := range object.members {
		if seen[m.key[0]] {
			return shapeError(m.keyStart, "the member %q appears twice in one object", m.key[0])
		}
		seen[m.key[0]] = true
	}
	return nil
}

func shapeError(offset int, format string, args ...any) error {
	return &syntaxError{offset: offset, problem: fmt.Sprintf(format, args...), remedy: "correct that line and run the command again"}
}

func trailingSpace(src []byte) string {
	return string(src[len(bytes.TrimRight(src, " \t\r\n")):])
}

func quoteJSON(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	// A Go string always encodes: bytes that are no UTF-8 become U+FFFD.
	_ = encoder.Encode(text)
	return strings.TrimSuffix(out.String(), "\n")
}
