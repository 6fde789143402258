// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Plan reads the target and works out the file with deed in front of every local
// server. It writes nothing. Servers behind deed already stay as they are, so a
// second Plan after [Apply] is empty. An error is a [*FileError].
func Plan(t Target, opts Options) (Change, error) {
	src, err := readSource(t)
	if err != nil {
		return Change{}, err
	}
	doc, err := src.document(t)
	if err != nil {
		return Change{}, err
	}
	c := Change{Target: t, Path: src.path, Before: src.data, mode: src.mode}
	want := map[string][]string{}
	var edits []edit
	for _, e := range doc.entries {
		words, left := judge(t.Client, e, opts.binary())
		if left != nil {
			left.Server, left.Line = e.name, lineAt(src.data, e.offset)
			c.Left = append(c.Left, *left)
			if left.Kind != NoteWrapped {
				continue
			}
		} else {
			edits = append(edits, doc.wrapEdits(e, opts.binary())...)
			want[e.name] = append([]string{opts.binary(), "mcp", "--name", e.name, "--"}, words...)
			c.Wrapped = append(c.Wrapped, e.name)
		}
		c.Notes = append(c.Notes, remarks(t.Client, e, lineAt(src.data, e.offset), opts.answerWithin())...)
	}
	c.After = edited(src.data, edits)
	if err := verify(t, doc, c.After, want); err != nil {
		return Change{}, err
	}
	if !c.Empty() {
		c.backup = backupPath(opts, c.Path, initBackup, c.After, c.Before)
	}
	return c, nil
}

// judge returns the words of a local server, or why the entry is left alone.
func judge(client Client, e entry, binary string) ([]string, *Note) {
	unsupported := func(reason string) ([]string, *Note) {
		return nil, &Note{Kind: NoteUnsupported, Reason: reason, Advice: "correct the entry in " + client.Title + " and run the command again"}
	}
	by, remote := e.remote()
	_, hasCommand := e.fields["command"]
	if remote && !hasCommand {
		return nil, &Note{
			Kind:   NoteRemote,
			Reason: "a remote server (" + by + ") has no command to put deed in front of",
			Advice: "list it under upstreams in deed.yaml, run `deed serve --config deed.yaml`, and give the client http://127.0.0.1:7391/mcp/" + e.name,
		}
	}
	words, problem := e.command()
	kind := e.fields["type"]
	switch {
	case problem != "":
		return unsupported(problem)
	case remote:
		return unsupported("it has a command and also " + by)
	case kind.text != "" && kind.text != "stdio":
		return unsupported("its type " + strconv.Quote(kind.text) + " is not known")
	}
	if original, yes := behindDeed(words, binary); yes {
		note := &Note{Kind: NoteWrapped, Reason: "it runs through deed already"}
		if original == 0 {
			note.Reason += ", without a command of its own"
		}
		return nil, note
	}
	switch {
	case e.name == "":
		return unsupported("it has no name")
	case strings.Contains(e.name, "$"):
		return unsupported("its name contains '$', which the client could replace in an argument")
	}
	return words, nil
}

func remarks(client Client, e entry, line int, answerWithin time.Duration) []Note {
	var notes []Note
	if e.disabled() {
		notes = append(notes, Note{Kind: NoteDisabled, Server: e.name, Line: line, Reason: "it is switched off in the client and stays so"})
	}
	n := e.fields[client.timeoutKey]
	amount, err := strconv.ParseFloat(strings.ReplaceAll(n.text, "_", ""), 64)
	if client.timeoutKey == "" || n.kind != scalarNode || err != nil {
		return notes
	}
	timeout := time.Duration(amount * float64(client.timeoutUnit))
	if timeout > 0 && timeout < answerWithin {
		notes = append(notes, Note{
			Kind: NoteTimeout, Server: e.name, Line: line,
			Reason: fmt.Sprintf("%s = %s gives up after %s, before deed answers in_progress after %s; it was kept", client.timeoutKey, n.text, timeout, answerWithin),
			Advice: fmt.Sprintf("raise it above %s, or set a shorter answer_within in deed.yaml", answerWithin),
		})
	}
	return notes
}

// verify reads the edited text as the client will and compares every server
// with what it must be now. It guards against a shape this package misreads.
func verify(t Target, before document, after []byte, want map[string][]string) error {
	refuse := func(detail string) error {
		return &FileError{Path: t.Path, Problem: "the edited file would not mean what it should (" + detail + ")", Remedy: "write the entry in a plainer form, or change it by hand; please report this"}
	}
	doc, err := parse(t.Client.format, t.Client.section, after)
	if err != nil {
		return refuse(err.Error())
	}
	if len(doc.entries) != len(before.entries) {
		return refuse("the number of servers changed")
	}
	for i, e := range doc.entries {
		old := before.entries[i]
		words, ok := want[old.name]
		if !ok {
			words, _ = old.command()
		}
		got, _ := e.command()
		if e.name != old.name || !slices.Equal(got, words) {
			return refuse("server " + strconv.Quote(old.name))
		}
	}
	return nil
}
