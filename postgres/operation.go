// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

// stored is an operation as one transaction read it, or is about to write it.
type stored struct {
	*deed.Operation
	revision int64
	// payload: the ledger has arguments or a result.
	payload bool
	// fresh: the ledger does not have the operation yet.
	fresh bool

	// What the transaction writes.
	dirty                   bool
	newArguments, newResult bool
	// known is the number of receipts that the ledger has.
	known int
}

// row collects the columns of an operation.
type row struct {
	stored
	deliveredAt       *int64
	record, receipts  string
	arguments, result []byte
}

func (r *row) light() []any {
	return []any{&r.revision, &r.deliveredAt, &r.payload, &r.record, &r.receipts}
}

func (r *row) whole() []any { return append(r.light(), &r.arguments, &r.result) }

// scan reads a row of lightColumns or wholeColumns that come after others.
func (r *row) scan(rows pgx.Rows, before []any, columns []any) (*stored, error) {
	if err := rows.Scan(append(before, columns...)...); err != nil {
		return nil, err
	}
	return r.open()
}

// open makes the operation of what was scanned.
func (r *row) open() (*stored, error) {
	op, err := decodeRecord(r.record)
	if err != nil {
		return nil, err
	}
	if op.Receipts, err = decodeReceipts(r.receipts); err != nil {
		return nil, err
	}
	if r.deliveredAt != nil {
		op.DeliveredAt = fromMicros(*r.deliveredAt)
	}
	op.Arguments, op.Result = r.arguments, r.result
	r.Operation, r.known = op, len(op.Receipts)
	return &r.stored, nil
}

// columns are the arrays of operationArrays and of what an update adds.
type columns struct {
	id, actor, tool, fingerprint, rules, matter, status, reason []string
	version, revision                                           []int64
	standing                                                    []int16
	unresolved                                                  []bool
	begunAt, deliveredAt, lapsesAt, retainUntil                 []*int64
	kept                                                        []bool
	record, receipts                                            []string
	arguments, result                                           [][]byte
	newArguments, newResult                                     []bool
}

func (c *columns) add(at *stored) error {
	op := at.Operation
	record, err := encodeRecord(op)
	if err != nil {
		return err
	}
	receipts, err := encodeReceipts(op.Receipts[at.known:])
	if err != nil {
		return err
	}
	c.id = append(c.id, indexedText(string(op.ID)))
	c.actor = append(c.actor, indexedText(string(op.Actor)))
	c.tool = append(c.tool, indexedText(string(op.Tool)))
	c.fingerprint = append(c.fingerprint, indexedText(string(op.Fingerprint)))
	c.rules = append(c.rules, indexedText(string(op.FingerprintRules)))
	c.matter = append(c.matter, indexedText(string(op.Matter)))
	c.status = append(c.status, string(op.Status))
	c.reason = append(c.reason, storedText(string(op.Reason)))
	c.version = append(c.version, op.Version)
	c.revision = append(c.revision, at.revision)
	c.standing = append(c.standing, standingOf(op))
	c.unresolved = append(c.unresolved, unresolved(op))
	c.begunAt = append(c.begunAt, micros(begunAt(op)))
	c.deliveredAt = append(c.deliveredAt, micros(op.DeliveredAt))
	c.lapsesAt = append(c.lapsesAt, micros(op.LapsesAt()))
	c.retainUntil = append(c.retainUntil, micros(op.RetainUntil))
	c.kept = append(c.kept, at.payload && trimmable(op))
	c.record = append(c.record, record)
	c.receipts = append(c.receipts, receipts)
	c.arguments = append(c.arguments, op.Arguments)
	c.result = append(c.result, op.Result)
	if !at.fresh {
		last := len(c.id) - 1
		if !at.newArguments {
			c.arguments[last] = nil
		}
		if !at.newResult {
			c.result[last] = nil
		}
		c.newArguments = append(c.newArguments, at.newArguments)
		c.newResult = append(c.newResult, at.newResult)
	}
	return nil
}

// values are the parameters after the tenant.
func (c *columns) values(tenant string) []any {
	return []any{tenant, int64(len(c.id)), c.id, c.actor, c.tool, c.fingerprint, c.rules, c.matter, c.status, c.reason, c.version, c.revision,
		c.standing, c.unresolved, c.begunAt, c.deliveredAt, c.lapsesAt, c.retainUntil, c.kept, c.record, c.receipts, c.arguments, c.result}
}
