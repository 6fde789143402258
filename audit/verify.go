// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/deed-run/deed"
)

// ErrInconsistent: what the log holds is not what a checkpoint was made of.
var ErrInconsistent = errors.New("the log is not what its checkpoint says")

// Report is what a verification found.
type Report struct {
	// Name, Size and Root are those of the checkpoint.
	Name string    `json:"log"`
	Size int64     `json:"records"`
	Root tlog.Hash `json:"root"`
	// Begun counts the attempts that were begun or continued, each the leave to
	// send once; Replays the repeats that were answered from the record, Conflicts
	// those that were refused.
	Begun     int64 `json:"begun"`
	Replays   int64 `json:"replays"`
	Conflicts int64 `json:"conflicts"`
	// Waiting is the number of events that the ledger recorded after the newest
	// record.
	Waiting int64 `json:"waiting"`
	// Findings are the first hundred differences, Found is how many there are.
	Findings []Finding `json:"findings,omitempty"`
	Found    int64     `json:"found"`
}

// Finding is a difference between the log and the ledger.
type Finding struct {
	Kind FindingKind `json:"kind"`
	// Record is the number of the record in the log, -1 when it has none.
	Record    int64            `json:"record"`
	Event     deed.EventID     `json:"event"`
	Operation deed.OperationID `json:"operation,omitempty"`
}

// FindingKind says what is different.
type FindingKind string

// The kinds of findings.
const (
	// EventChanged: the ledger has the event with other content.
	EventChanged FindingKind = "event_changed"
	// EventGone: the ledger does not have the event any more.
	EventGone FindingKind = "event_gone"
	// EventUnlogged: the ledger has an event among logged ones that the log does
	// not have. It was put in later; or its transaction ended so late that the
	// trail had passed it.
	EventUnlogged FindingKind = "event_unlogged"
	// EventMoved: the ledger has the event in another place.
	EventMoved FindingKind = "event_moved"
	// EventRepeated: the ledger, or the log, has the event more than once.
	EventRepeated FindingKind = "event_repeated"
	// ReceiptsChanged: the first receipts of the operation are not those that it
	// had when the event was logged.
	ReceiptsChanged FindingKind = "receipts_changed"
)

const maxFindings = 100

func (r *Report) add(f Finding) {
	if r.Found++; r.Found <= maxFindings {
		r.Findings = append(r.Findings, f)
	}
}

// Verify reads the whole log and checks it against its checkpoint, against
// earlier ones that others kept, and against the ledger unless that is nil. The
// error is ErrInconsistent when the log itself, or its growth since an earlier
// checkpoint, is not what was signed; differences of the ledger are findings. Log
// and ledger are read side by side: it keeps eight bytes in memory for each
// record, and some hundred for each that is not where the other has it. A log that
// is still empty does not know whom it is about: tenant says so then.
func (l *Log) Verify(ctx context.Context, ledger Ledger, tenant deed.Tenant, earlier ...Checkpoint) (Report, error) {
	at, err := l.Checkpoint()
	if err != nil {
		return Report{}, err
	}
	report := Report{Name: at.Name, Size: at.Size, Root: at.Root}
	for _, c := range earlier {
		if c.Size > at.Size {
			return report, fmt.Errorf("%w: it has %d records, and had %d at an earlier checkpoint; the newer ones were taken out", ErrInconsistent, at.Size, c.Size)
		}
	}
	c := newComparison(&report, ledger, tenant)
	tree := frontier{log: l}
	err = l.each(ctx, at, func(n int64, record []byte) error {
		if err := tree.isAt(n, earlier); err != nil {
			return err
		}
		if err := tree.add(record); err != nil {
			return err
		}
		r, err := readRecord(record)
		if err != nil {
			return fmt.Errorf("%w: record %d is none: %w", ErrInconsistent, n, err)
		}
		report.count(r.Name)
		return c.read(ctx, n, r, record)
	})
	switch {
	case errors.Is(err, errBundle), errors.Is(err, fs.ErrNotExist):
		return report, fmt.Errorf("%w: %w", ErrInconsistent, err)
	case err != nil:
		return report, err
	}
	if err := errors.Join(tree.isAt(at.Size, append(earlier, at)), tree.end()); err != nil {
		return report, err
	}
	return report, c.end(ctx, l, at)
}

func (r *Report) count(name deed.EventName) {
	switch name {
	case deed.EventBegun, deed.EventContinued:
		r.Begun++
	case deed.EventName(deed.Replay):
		r.Replays++
	case deed.EventName(deed.Conflict):
		r.Conflicts++
	}
}
