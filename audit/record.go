// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/deed-run/deed"
)

// Record is an event as the log has it. JSON names are fixed: the tree is over
// these bytes. What an event carries beside these members, and what was sent and
// answered, is there as a digest only: a log is made to be given away.
type Record struct {
	Tenant      deed.Tenant      `json:"tenant"`
	Event       deed.EventID     `json:"event"`
	Operation   deed.OperationID `json:"operation,omitempty"`
	Version     int64            `json:"version"`
	At          time.Time        `json:"at"`
	Name        deed.EventName   `json:"name"`
	Actor       deed.Actor       `json:"actor"`
	Attempt     int              `json:"attempt,omitempty"`
	From        deed.Status      `json:"from,omitempty"`
	To          deed.Status      `json:"to,omitempty"`
	Reason      deed.Reason      `json:"reason,omitempty"`
	Tool        deed.Tool        `json:"tool,omitempty"`
	Fingerprint deed.Fingerprint `json:"fingerprint,omitempty"`
	// Data is the digest of the event's data.
	Data deed.Digest `json:"data_digest,omitempty"`
	// Receipts is the number of receipts that the operation had when the event
	// was logged, ReceiptsDigest the digest of all of them. Receipts are only
	// ever added, so the first so many of a ledger's have this digest for ever.
	Receipts       int         `json:"receipts,omitempty"`
	ReceiptsDigest deed.Digest `json:"receipts_digest,omitempty"`
}

// maxRecord is what the length of an entry has room for, in bytes.
const maxRecord = 1<<16 - 1

// recordOf writes an event of an operation that has these receipts.
func recordOf(e deed.Event, receipts []deed.Receipt) ([]byte, error) {
	r := Record{
		Tenant: e.Tenant, Event: e.ID, Operation: e.OperationID, Version: e.Version, At: e.At.UTC().Truncate(time.Microsecond), Name: e.Name,
		Actor: e.Actor, Attempt: e.Attempt, From: e.From, To: e.To, Reason: e.Reason, Tool: e.Tool, Fingerprint: e.Fingerprint,
		Receipts: len(receipts),
	}
	if len(e.Data) > 0 {
		r.Data = digest(e.Data)
	}
	var err error
	if r.ReceiptsDigest, err = digestOf(receipts); err != nil {
		return nil, fmt.Errorf("event %s: %w", e.ID, err)
	}
	text, err := json.Marshal(r)
	if err == nil && len(text) > maxRecord {
		err = errors.New("longer than an entry of the log may be")
	}
	if err != nil {
		return nil, fmt.Errorf("event %s cannot be logged: %w", e.ID, err)
	}
	return text, nil
}

func readRecord(text []byte) (Record, error) {
	var r Record
	err := json.Unmarshal(text, &r)
	return r, err
}

// digestOf is over the JSON of the receipts, a line each; empty for none.
func digestOf(receipts []deed.Receipt) (deed.Digest, error) {
	if len(receipts) == 0 {
		return "", nil
	}
	var lines []byte
	for _, receipt := range receipts {
		receipt.Result, receipt.CommittedAt = nil, receipt.CommittedAt.UTC().Truncate(time.Microsecond)
		line, err := json.Marshal(receipt)
		if err != nil {
			return "", fmt.Errorf("a receipt of %s: %w", receipt.OperationID, err)
		}
		lines = append(append(lines, line...), '\n')
	}
	return digest(lines), nil
}

func digest(data []byte) deed.Digest {
	sum := sha256.Sum256(data)
	return deed.Digest("sha256:" + hex.EncodeToString(sum[:]))
}
