// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Log is a log in a folder. Its methods may be called from any goroutine and any
// process; one at a time appends.
type Log struct {
	dir      string
	verifier string
}

// ErrBusy: another process is appending to the log.
var ErrBusy = errors.New("another process is appending to the log")

// ErrNoLog: there is no log in the folder.
var ErrNoLog = errors.New("there is no log")

// ErrExists: there is a log in the folder already.
var ErrExists = errors.New("there is a log already")

// Create makes an empty log in a folder that has none.
func Create(dir, private string) (Checkpoint, error) {
	l, signer, err := withKey(dir, private)
	if err != nil {
		return Checkpoint{}, err
	}
	_, err = os.Stat(l.file("checkpoint"))
	if err == nil {
		err = ErrExists
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return Checkpoint{}, fmt.Errorf("making a log in %s: %w; nothing was changed", dir, err)
	}
	root, err := tlog.TreeHash(0, nil)
	if err != nil {
		return Checkpoint{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Checkpoint{}, fmt.Errorf("making a log: %w; nothing was made", err)
	}
	made, err := l.publish(Checkpoint{Root: root}, signer)
	return made, errors.Join(err, syncFolder(filepath.Dir(l.dir)))
}

// Open opens a log for those who read it and know its verifier key.
func Open(dir, verifier string) (*Log, error) {
	l := &Log{dir: filepath.Clean(dir), verifier: verifier}
	_, err := l.Checkpoint()
	return l, err
}

// withKey opens a log for whoever appends to it.
func withKey(dir, private string) (*Log, note.Signer, error) {
	signer, err := note.NewSigner(private)
	if err != nil {
		return nil, nil, fmt.Errorf("the key of the log %s: %w; nothing was done; give the private key that made the log", dir, err)
	}
	verifier, err := verifierOf(private)
	return &Log{dir: filepath.Clean(dir), verifier: verifier}, signer, err
}

func (l *Log) file(name string) string { return filepath.Join(l.dir, name) }

// Checkpoint reads the log's latest.
func (l *Log) Checkpoint() (Checkpoint, error) {
	signed, err := os.ReadFile(l.file("checkpoint"))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %s has no checkpoint that can be read: %w; name its folder, or make one with deed audit init", ErrNoLog, l.dir, err)
	}
	c, err := ReadCheckpoint(signed, l.verifier)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("the log %s: %w", l.dir, err)
	}
	return c, nil
}

// publish signs a checkpoint and makes it the log's latest.
func (l *Log) publish(c Checkpoint, signer note.Signer) (Checkpoint, error) {
	c, err := c.sign(signer)
	if err != nil {
		return Checkpoint{}, err
	}
	if err := l.put(l.file("checkpoint"), c.Signed); err != nil {
		return Checkpoint{}, fmt.Errorf("publishing a checkpoint of %s: %w", l.dir, err)
	}
	return c, nil
}

// each yields the records of a checkpoint in their order.
func (l *Log) each(ctx context.Context, c Checkpoint, take func(n int64, record []byte) error) error {
	for at := int64(0); at < c.Size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := l.bundle(at/width, int(min(width, c.Size-at)))
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if err := take(at, entry); err != nil {
				return err
			}
			at++
		}
	}
	return nil
}

// last is the newest record of a checkpoint, nil if there is none.
func (l *Log) last(c Checkpoint) ([]byte, error) {
	if c.Size == 0 {
		return nil, nil
	}
	n := (c.Size - 1) / width
	entries, err := l.bundle(n, int(c.Size-n*width))
	if err != nil {
		return nil, err
	}
	return entries[len(entries)-1], nil
}
