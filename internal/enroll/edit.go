// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"bytes"
	"slices"
	"strings"
)

// edit replaces source bytes [start, end) with text.
type edit struct {
	start, end int
	text       string
}

// edited returns src with all edits made; they must not overlap.
func edited(src []byte, edits []edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(src[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(src[at:])
	return out.Bytes()
}

// wrapEdits puts deed before a local server. The original command keeps its
// spelling in the source, escapes and all, so that unwrapEdits can put the very
// bytes back.
func (d document) wrapEdits(e entry, binary string) []edit {
	command := e.fields["command"]
	words := strings.Join([]string{d.quote("mcp"), d.quote("--name"), d.quote(e.name), d.quote("--"), d.raw(command)}, ", ")
	replace := edit{command.start, command.end, d.quote(binary)}
	args, ok := e.fields["args"]
	switch {
	case !ok:
		return []edit{replace, {e.insertAt, e.insertAt, e.insertText + "[" + words + "]"}}
	case len(args.elements) == 0:
		return []edit{replace, {args.start + 1, args.start + 1, words}}
	}
	first := args.elements[0].start
	space := trailingSpace(d.src[:first])
	if !strings.Contains(space, "\n") {
		space = " "
	}
	return []edit{replace, {first, first, words + "," + space}}
}

// unwrapEdits takes deed out again. at is where the original command stands in
// args; dropArgs says that the original had no args array.
func (d document) unwrapEdits(e entry, at int, dropArgs bool) []edit {
	command, args := e.fields["command"], e.fields["args"]
	original := args.elements[at]
	replace := edit{command.start, command.end, d.raw(original)}
	first := args.elements[0].start
	switch {
	case at+1 < len(args.elements):
		return []edit{replace, {first, args.elements[at+1].start, ""}}
	case dropArgs && e.removeFrom >= 0:
		return []edit{replace, {e.removeFrom, args.end, ""}}
	}
	end := original.end
	rest := bytes.TrimLeft(d.src[end:], " \t\r\n")
	if len(rest) > 0 && rest[0] == ',' {
		end = len(d.src) - len(rest) + 1
	}
	return []edit{replace, {first, end, ""}}
}

// behindDeed reports whether words run a server through deed already, and the
// index in words of the original command; the index is 0 where deed takes its
// server from a configuration file and no command follows.
func behindDeed(words []string, binary string) (original int, yes bool) {
	program := programName(words[0])
	if program != "deed" && program != programName(binary) || len(words) < 2 || words[1] != "mcp" {
		return 0, false
	}
	for i := 2; i < len(words); i++ {
		switch words[i] {
		case "--":
			if i+1 == len(words) {
				return 0, true
			}
			return i + 1, true
		case "--name", "--config", "--upstream", "--tenant", "--actor", "--ledger", "--chaos":
			i++
		}
	}
	return 0, true
}

// programName is the last part of a path of either kind, without ".exe".
func programName(path string) string {
	if i := strings.LastIndexAny(path, `/\`); i >= 0 {
		path = path[i+1:]
	}
	return strings.TrimSuffix(strings.ToLower(path), ".exe")
}
