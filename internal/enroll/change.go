// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"io/fs"
	"time"
)

// Options of [Plan] and [Undo]; the zero value is good.
type Options struct {
	// Binary is the command written into the file: "deed" when empty. Clients
	// started from a desktop often have a short PATH, so an absolute path is
	// the safer choice there.
	Binary string
	// AnswerWithin is how long deed lets a caller wait before it answers
	// in_progress: 50 s when zero. Shorter timeouts in the file are reported.
	AnswerWithin time.Duration
	// BackupDir holds the backups; empty keeps them beside the file.
	BackupDir string
}

func (o Options) binary() string {
	if o.Binary == "" {
		return "deed"
	}
	return o.Binary
}

func (o Options) answerWithin() time.Duration {
	if o.AnswerWithin == 0 {
		return 50 * time.Second
	}
	return o.AnswerWithin
}

// NoteKind sorts the notes of a change.
type NoteKind string

const (
	// NoteRemote marks an entry that is reached by URL and stays as it is.
	NoteRemote NoteKind = "remote"
	// NoteWrapped marks an entry that runs through deed already.
	NoteWrapped NoteKind = "wrapped"
	// NoteUnsupported marks an entry this package does not dare to edit.
	NoteUnsupported NoteKind = "unsupported"
	// NoteTimeout marks a client timeout shorter than deed's answer.
	NoteTimeout NoteKind = "timeout"
	// NoteDisabled marks an entry that is switched off and stays so.
	NoteDisabled NoteKind = "disabled"
	// NoteEdited marks a file changed since deed was put in: the later changes
	// are kept.
	NoteEdited NoteKind = "edited"
)

// Note is one thing to tell the user about an entry, or about the file where
// Server is empty.
type Note struct {
	Kind   NoteKind
	Server string
	Line   int // 1-based, in the file before the change; 0 for the whole file
	Reason string
	Advice string // what to do, may be empty
}

// Change is a planned edit of one file. Nothing is written before [Apply].
type Change struct {
	Target Target
	Path   string // the file to be written: Target.Path with links followed

	Before, After []byte

	Wrapped   []string // servers that get deed in front, in file order
	Unwrapped []string // servers that lose it
	Left      []Note   // servers left exactly as they are, and why
	Notes     []Note   // anything else worth telling

	// Exact says that an Undo gives back the backed-up file byte for byte;
	// otherwise it edits back only deed's own entries.
	Exact bool

	undo   bool
	mode   fs.FileMode
	backup string   // where Apply keeps Before, empty for no backup
	spent  []string // backups that Apply removes once their content is the file
}

// Empty reports whether the change would leave the file as it is.
func (c Change) Empty() bool { return string(c.Before) == string(c.After) }

// Diff returns the change in the unified format with three lines of context,
// empty for an empty change. Lines of the file are shown as they are, secrets
// included: print it to the user, do not log it.
func (c Change) Diff() string { return unified(c.Path, c.Before, c.After) }
