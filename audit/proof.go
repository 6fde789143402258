// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/deed-run/deed"
)

// Proof shows that records about one operation are in a log. It is whole: who
// checks it needs the verifier key and nothing else. JSON names are fixed.
type Proof struct {
	Operation  deed.OperationID `json:"operation"`
	Checkpoint string           `json:"checkpoint"`
	Records    []ProvedRecord   `json:"records"`
}

// ProvedRecord is a record with the path of hashes from it to the root.
type ProvedRecord struct {
	Number int64 `json:"number"`
	// Record is the text that the tree is over, byte by byte.
	Record string      `json:"record"`
	Path   []tlog.Hash `json:"path"`
}

// Prove collects the records about an operation. It fails with
// [deed.ErrNotFound] when the log has none.
func (l *Log) Prove(ctx context.Context, id deed.OperationID) (Proof, error) {
	at, err := l.Checkpoint()
	if err != nil {
		return Proof{}, err
	}
	proof := Proof{Operation: id, Checkpoint: string(at.Signed)}
	hashes := l.hashes(at)
	err = l.each(ctx, at, func(n int64, record []byte) error {
		r, err := readRecord(record)
		if err != nil || r.Operation != id {
			return err
		}
		path, err := tlog.ProveRecord(at.Size, n, hashes)
		if err == nil {
			err = tlog.CheckRecord(path, at.Size, at.Root, n, tlog.RecordHash(record))
		}
		if err != nil {
			return fmt.Errorf("%w: record %d: %w", ErrInconsistent, n, err)
		}
		proof.Records = append(proof.Records, ProvedRecord{n, string(record), path})
		return nil
	})
	if err == nil && len(proof.Records) == 0 {
		err = fmt.Errorf("the log %s has no record of %s: %w; it has %d records; deed audit append brings it up to date", l.dir, id, deed.ErrNotFound, at.Size)
	}
	return proof, err
}

// ErrUnproved: a proof does not show what it says.
var ErrUnproved = errors.New("the proof does not hold")

// Check returns the records that the proof shows to be in the log whose verifier
// key this is, and the checkpoint that they are under. That there are no others
// about the operation can only be told from the whole log.
func (p Proof) Check(verifier string) ([]Record, Checkpoint, error) {
	at, err := ReadCheckpoint([]byte(p.Checkpoint), verifier)
	if err != nil {
		return nil, Checkpoint{}, err
	}
	if len(p.Records) == 0 {
		return nil, at, fmt.Errorf("%w: it has no record", ErrUnproved)
	}
	records := make([]Record, len(p.Records))
	for i, shown := range p.Records {
		if i > 0 && shown.Number <= p.Records[i-1].Number {
			return nil, at, fmt.Errorf("%w: record %d comes after record %d", ErrUnproved, shown.Number, p.Records[i-1].Number)
		}
		if shown.Number < 0 || shown.Number >= at.Size {
			return nil, at, fmt.Errorf("%w: there is no record %d in a log of %d", ErrUnproved, shown.Number, at.Size)
		}
		if err := tlog.CheckRecord(shown.Path, at.Size, at.Root, shown.Number, tlog.RecordHash([]byte(shown.Record))); err != nil {
			return nil, at, fmt.Errorf("%w: record %d is not in the log: %w", ErrUnproved, shown.Number, err)
		}
		if records[i], err = readRecord([]byte(shown.Record)); err != nil {
			return nil, at, fmt.Errorf("%w: record %d is none: %w", ErrUnproved, shown.Number, err)
		}
		if records[i].Operation != p.Operation {
			return nil, at, fmt.Errorf("%w: record %d is about %q", ErrUnproved, shown.Number, records[i].Operation)
		}
	}
	return records, at, nil
}
