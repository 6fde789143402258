// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import "slices"

// Undo reads the target and works out the file without deed. When the file is
// still what [Apply] wrote, that is the backup, byte for byte. When it was
// changed since, only deed's own entries are edited back, every later change is
// kept, and a [NoteEdited] says so. It writes nothing; an error is a
// [*FileError].
func Undo(t Target, opts Options) (Change, error) {
	src, err := readSource(t)
	if err != nil {
		return Change{}, err
	}
	saved, err := backups(opts, src.path)
	if err != nil {
		return Change{}, err
	}
	c := Change{Target: t, Path: src.path, Before: src.data, mode: src.mode, undo: true}
	current := src
	// One backup for every Plan applied since: walk them back to the first.
	for range saved {
		i := slices.IndexFunc(saved, func(b backup) bool { return b.after == digest(current.data) })
		if i < 0 || slices.Contains(c.spent, saved[i].path) {
			break
		}
		current.data = saved[i].content
		c.spent = append(c.spent, saved[i].path)
	}
	doc, err := current.document(t)
	if err != nil {
		return Change{}, err
	}
	first, err := src.document(t)
	if err != nil {
		return Change{}, err
	}
	edits, want := c.takeOut(doc, earlierEntries(t, saved), opts.binary())
	c.After = edited(current.data, edits)
	if err := verify(t, doc, c.After, want); err != nil {
		return Change{}, err
	}
	c.reportUnwrapped(first, opts.binary())
	c.Exact = len(c.spent) > 0 && len(edits) == 0
	if len(edits) > 0 {
		c.spent = nil
		c.backup = backupPath(opts, c.Path, undoBackup, c.After, c.Before)
		reason := "there is no backup of this file from before deed"
		if len(saved) > 0 {
			reason = "the file was changed after deed was put in"
		}
		c.Notes = append(c.Notes, Note{Kind: NoteEdited, Reason: reason + ": only deed's entries were edited back, everything else was kept"})
	}
	return c, nil
}

// takeOut returns the edits for every entry behind deed that was not so before
// deed was put in.
func (c *Change) takeOut(doc document, earlier []entry, binary string) ([]edit, map[string][]string) {
	want := map[string][]string{}
	var edits []edit
	for _, e := range doc.entries {
		words, problem := e.command()
		if problem != "" {
			continue
		}
		original, yes := behindDeed(words, binary)
		if !yes {
			continue
		}
		leave := func(reason string) {
			c.Left = append(c.Left, Note{Kind: NoteWrapped, Server: e.name, Line: lineAt(doc.src, e.offset), Reason: reason, Advice: "edit it by hand to take deed out there too"})
		}
		if original == 0 {
			leave("deed takes this server from its own configuration, so there is no command to put back")
			continue
		}
		before, handMade := origin(earlier, e.name, words[original:], binary)
		if handMade {
			leave("it ran through deed before deed was put in here")
			continue
		}
		if before.fields == nil && words[2] != "--name" {
			leave("it was put behind deed in another way than by this command")
			continue
		}
		_, hadArgs := before.fields["args"]
		edits = append(edits, doc.unwrapEdits(e, original-1, before.fields != nil && !hadArgs)...)
		want[e.name] = words[original:]
	}
	return edits, want
}

// origin looks in the backups for the entry as it was without deed, best the one
// with the same words. handMade says that the backups know the entry only with
// deed.
func origin(earlier []entry, name string, words []string, binary string) (found entry, handMade bool) {
	for _, e := range earlier {
		had, problem := e.command()
		if e.name != name || problem != "" {
			continue
		}
		if slices.Equal(had, words) {
			return e, false
		}
		if _, yes := behindDeed(had, binary); yes {
			handMade = true
		} else {
			found = e
		}
	}
	return found, handMade && found.fields == nil
}

// earlierEntries gathers the servers of all backups. A backup that no longer
// parses says nothing.
func earlierEntries(t Target, saved []backup) []entry {
	var all []entry
	for _, b := range saved {
		if doc, err := parse(t.Client.format, t.Client.section, b.content); err == nil {
			all = append(all, doc.entries...)
		}
	}
	return all
}

// reportUnwrapped names the servers that ran through deed and no longer do.
func (c *Change) reportUnwrapped(first document, binary string) {
	after, err := parse(c.Target.Client.format, c.Target.Client.section, c.After)
	if err != nil {
		return
	}
	for _, e := range first.entries {
		was, problem := e.command()
		if problem != "" {
			continue
		}
		now, ok := after.entry(e.name)
		if words, problem := now.command(); ok && problem == "" {
			_, before := behindDeed(was, binary)
			if _, still := behindDeed(words, binary); before && !still {
				c.Unwrapped = append(c.Unwrapped, e.name)
			}
		}
	}
}
