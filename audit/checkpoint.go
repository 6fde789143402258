// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// NewKey makes the key of a log with this name: private signs its checkpoints
// and is a secret, verifier is for everybody. The name stands in every
// checkpoint, such as audit.example.org/acme: no spaces, no plus signs.
func NewKey(name string) (private, verifier string, err error) {
	if strings.ContainsFunc(name, unicode.IsControl) {
		err = errors.New("it has a control character")
	}
	if err == nil {
		private, verifier, err = note.GenerateKey(rand.Reader, name)
	}
	if err == nil {
		_, err = note.NewVerifier(verifier)
	}
	if err != nil {
		return "", "", fmt.Errorf("a key for the log %q: %w; nothing was made; name it like a host and a path, without spaces and plus signs", name, err)
	}
	return private, verifier, nil
}

// Checkpoint is what a log was at one moment: that many records, and the root of
// the tree over them. It is the text that others keep.
type Checkpoint struct {
	// Name is that of the log's key.
	Name string
	Size int64
	Root tlog.Hash
	// Signed is the note, whole.
	Signed []byte
}

// ErrNotSigned: a checkpoint carries no signature of the key that was given.
var ErrNotSigned = errors.New("the checkpoint is not signed by this key")

// ReadCheckpoint reads a checkpoint that the holder of the key has signed.
func ReadCheckpoint(signed []byte, verifier string) (Checkpoint, error) {
	v, err := note.NewVerifier(verifier)
	if err != nil {
		// What was given may be the private key: it is not told.
		return Checkpoint{}, fmt.Errorf("%w: what was given is no verifier key", ErrNotSigned)
	}
	opened, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %w", ErrNotSigned, err)
	}
	c, err := parseCheckpoint(opened.Text)
	if err == nil && c.Name != v.Name() {
		err = fmt.Errorf("it is of the log %q", c.Name)
	}
	if err != nil {
		return Checkpoint{}, fmt.Errorf("the checkpoint that %s signed: %w", v.Name(), err)
	}
	c.Signed = signed
	return c, nil
}

// parseCheckpoint reads the three lines of https://c2sp.org/tlog-checkpoint.
func parseCheckpoint(text string) (Checkpoint, error) {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) < 4 || lines[0] == "" {
		return Checkpoint{}, errors.New("it has no name, size and root")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != lines[1] {
		return Checkpoint{}, fmt.Errorf("%q is no size", lines[1])
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return Checkpoint{}, fmt.Errorf("%q is no root", lines[2])
	}
	return Checkpoint{Name: lines[0], Size: size, Root: tlog.Hash(root)}, nil
}

// sign completes a checkpoint.
func (c Checkpoint) sign(signer note.Signer) (Checkpoint, error) {
	c.Name = signer.Name()
	text := fmt.Sprintf("%s\n%d\n%s\n", c.Name, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	c.Signed = signed
	return c, err
}
