// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/json"
	"time"

	"github.com/deed-run/deed"
)

// stored is an operation as one transaction read it, with its place.
type stored struct {
	*deed.Operation
	seq      int64
	standing int64
	// whole: arguments and result were read too.
	whole bool
}

// bindIdentity binds identityColumns.
func bindIdentity(s *statement, op *deed.Operation) {
	s.text(string(op.Tenant))
	s.operationID(string(op.ID))
	s.text(string(op.Actor))
	s.text(string(op.Key.Actor))
	s.text(string(op.Key.Family))
	s.text(op.Key.Text)
	s.integer(int64(op.Key.Generation))
	s.text(string(op.Key.Provenance))
	s.moment(op.CreatedAt)
}

// bindContent binds contentColumns.
func bindContent(s *statement, op *deed.Operation) {
	s.text(string(op.Tool))
	s.text(string(op.Effect))
	s.digest(string(op.Fingerprint))
	s.digest(string(op.FingerprintRules))
	s.text(string(op.Matter))
	s.text(op.UpstreamIdentity)
	s.document(op.Meta, op.Meta == nil)
}

// sameContent reports whether a change leaves contentColumns as they are.
func sameContent(a, b *deed.Operation) bool {
	if a.Tool != b.Tool || a.Effect != b.Effect || a.Fingerprint != b.Fingerprint || a.Matter != b.Matter ||
		a.FingerprintRules != b.FingerprintRules || a.UpstreamIdentity != b.UpstreamIdentity || len(a.Meta) != len(b.Meta) ||
		(a.Meta == nil) != (b.Meta == nil) {
		return false
	}
	for name, value := range a.Meta {
		if other, there := b.Meta[name]; !there || other != value {
			return false
		}
	}
	return true
}

// bindState binds stateColumns. receipts is the number of receipts that the
// ledger has after the write, payload whether it has arguments or a result.
func bindState(s *statement, op *deed.Operation, receipts int, payload bool) {
	s.digest(string(op.Definition))
	s.digest(string(op.RulesHash))
	s.text(op.PolicyRevision)
	s.digest(string(op.PayloadDigest))
	s.text(string(op.Status))
	s.text(string(op.Reason))
	s.boolean(op.Retryable)
	s.text(op.Message)
	s.text(op.DecidedBy)
	s.boolean(op.NoMoreAttempts)
	s.boolean(op.Diverged)
	s.boolean(op.Contradicted)
	s.boolean(op.ApprovalLapsed)
	s.attempts(op.Attempts)
	s.moment(begunAt(op))
	s.integer(int64(receipts))
	s.digest(string(op.ResultDigest))
	s.boolean(op.ResultIsError)
	s.digest(string(op.RequestState))
	s.digest(string(op.Inputs))
	s.digest(string(op.AnsweredState))
	s.operationID(string(op.Supersedes))
	s.operationID(string(op.SupersededBy))
	s.approval(op.Approval)
	s.moment(op.ProposedAt)
	s.moment(op.AuthorizedAt)
	s.moment(op.ExpiresAt)
	s.moment(op.LeaseExpiresAt)
	s.moment(op.InputExpiresAt)
	s.moment(op.RetryAt)
	s.moment(op.SettledAt)
	s.moment(op.DeliveredAt)
	s.moment(op.DispatchBy)
	s.moment(op.RetainUntil)
	s.integer(op.Version)
	s.moment(op.LapsesAt())
	s.boolean(payload && trimmable(op))
}

// bindOutcome binds outcomeSet.
func bindOutcome(s *statement, op *deed.Operation, receipts int, payload bool) {
	s.text(string(op.Status))
	s.text(string(op.Reason))
	s.boolean(op.Retryable)
	s.text(op.Message)
	s.attempts(op.Attempts)
	s.integer(int64(receipts))
	s.digest(string(op.ResultDigest))
	s.boolean(op.ResultIsError)
	s.moment(op.LeaseExpiresAt)
	s.moment(op.RetryAt)
	s.moment(op.SettledAt)
	s.moment(op.RetainUntil)
	s.integer(op.Version)
	s.moment(op.LapsesAt())
	s.boolean(payload && trimmable(op))
}

// sameBeyondOutcome reports whether two states of an operation agree in all
// that bindState binds and bindOutcome does not.
func sameBeyondOutcome(a, b *deed.Operation) bool {
	return a.Definition == b.Definition && a.RulesHash == b.RulesHash && a.PolicyRevision == b.PolicyRevision &&
		a.PayloadDigest == b.PayloadDigest && a.DecidedBy == b.DecidedBy && a.NoMoreAttempts == b.NoMoreAttempts &&
		a.Diverged == b.Diverged && a.Contradicted == b.Contradicted && a.ApprovalLapsed == b.ApprovalLapsed &&
		begunAt(a).Equal(begunAt(b)) && a.RequestState == b.RequestState && a.Inputs == b.Inputs &&
		a.AnsweredState == b.AnsweredState && a.Supersedes == b.Supersedes && a.SupersededBy == b.SupersededBy &&
		a.Approval == nil && b.Approval == nil && a.ProposedAt.Equal(b.ProposedAt) && a.AuthorizedAt.Equal(b.AuthorizedAt) &&
		a.ExpiresAt.Equal(b.ExpiresAt) && a.InputExpiresAt.Equal(b.InputExpiresAt) && a.DeliveredAt.Equal(b.DeliveredAt) &&
		a.DispatchBy.Equal(b.DispatchBy)
}

// trimmable reports whether retention may ever remove what the operation
// carries.
func trimmable(op *deed.Operation) bool {
	if op.RetainUntil.IsZero() {
		return false
	}
	switch op.State() {
	case deed.StateCommitted, deed.StateFailedFinal, deed.StateDenied, deed.StateCancelled, deed.StateExpired:
		return true
	}
	return false
}

// standingOf is the column's meaning; the schema checks that they agree.
func standingOf(op *deed.Operation) int64 {
	switch op.State() {
	case deed.StateCommitted:
		if op.Delivered() {
			return 1
		}
	case deed.StateFailedRetryable, deed.StateFailedFinal:
		return 2
	case deed.StateDenied:
		return 3
	case deed.StateCancelled:
		return 4
	case deed.StateExpired:
		return 5
	case deed.StateAbandoned:
		return 6
	}
	return 0
}

// begunAt is when the latest attempt began.
func begunAt(op *deed.Operation) time.Time {
	if a := op.Current(); a != nil {
		return a.BegunAt
	}
	return time.Time{}
}

// readOperation reads lightColumns, and wholeColumns when whole is set.
// Receipts are read by their own statement.
func readOperation(s *statement, whole bool) (stored, error) {
	op := &deed.Operation{}
	at := stored{Operation: op, seq: s.readInteger(), standing: s.readInteger(), whole: whole}
	op.Tenant = deed.Tenant(s.readText())
	op.ID = deed.OperationID(s.readID(operationPrefix))
	op.Actor = deed.Actor(s.readText())
	op.Key.Actor = deed.Actor(s.readText())
	op.Key.Family = deed.Family(s.readText())
	op.Key.Text = s.readText()
	op.Key.Generation = int(s.readInteger())
	op.Key.Provenance = deed.Provenance(s.readText())
	op.CreatedAt = s.readMoment()

	op.Tool = deed.Tool(s.readText())
	op.Effect = deed.EffectClass(s.readText())
	op.Fingerprint = deed.Fingerprint(s.readDigest())
	op.FingerprintRules = deed.Digest(s.readDigest())
	op.Matter = deed.Matter(s.readText())
	op.UpstreamIdentity = s.readText()
	s.readDocument(&op.Meta)

	op.Definition = deed.Digest(s.readDigest())
	op.RulesHash = deed.Digest(s.readDigest())
	op.PolicyRevision = s.readText()
	op.PayloadDigest = deed.Digest(s.readDigest())
	op.Status = deed.Status(s.readText())
	op.Reason = deed.Reason(s.readText())
	op.Retryable = s.readBoolean()
	op.Message = s.readText()
	op.DecidedBy = s.readText()
	op.NoMoreAttempts = s.readBoolean()
	op.Diverged = s.readBoolean()
	op.Contradicted = s.readBoolean()
	op.ApprovalLapsed = s.readBoolean()
	op.Attempts = s.readAttempts()
	s.readMoment() // begun_at is the latest attempt's
	if n := s.readInteger(); n > 0 {
		op.Receipts = make([]deed.Receipt, 0, n)
	}
	op.ResultDigest = deed.Digest(s.readDigest())
	op.ResultIsError = s.readBoolean()
	op.RequestState = deed.Digest(s.readDigest())
	op.Inputs = deed.Digest(s.readDigest())
	op.AnsweredState = deed.Digest(s.readDigest())
	op.Supersedes = deed.OperationID(s.readID(operationPrefix))
	op.SupersededBy = deed.OperationID(s.readID(operationPrefix))
	s.readDocument(&op.Approval)
	op.ProposedAt = s.readMoment()
	op.AuthorizedAt = s.readMoment()
	op.ExpiresAt = s.readMoment()
	op.LeaseExpiresAt = s.readMoment()
	op.InputExpiresAt = s.readMoment()
	op.RetryAt = s.readMoment()
	op.SettledAt = s.readMoment()
	op.DeliveredAt = s.readMoment()
	op.DispatchBy = s.readMoment()
	op.RetainUntil = s.readMoment()
	op.Version = s.readInteger()
	s.column += 2 // lapses_at and kept follow from the rest
	if whole {
		op.Arguments = s.readBytes()
		op.Result = s.readBytes()
	}
	return at, s.err
}

// document binds a value as JSON, or NULL.
func (s *statement) document(value any, null bool) {
	if null {
		s.optional(nil)
		return
	}
	text, err := json.Marshal(value)
	s.keep(err)
	s.optional(text)
}

// readDocument leaves value alone for NULL.
func (s *statement) readDocument(value any) {
	s.column++
	if raw := s.ColumnRawText(s.column - 1); raw != nil {
		s.keep(json.Unmarshal(raw, value))
	}
}

// readReceipts reads the receipts of an operation into it.
func readReceipts(c *connection, at stored) error {
	if cap(at.Receipts) == 0 {
		return nil
	}
	s := c.use(stmtReceipts)
	s.integer(at.seq)
	for s.next() {
		r := deed.Receipt{
			IdempotencyKey:    s.readText(),
			EffectFingerprint: deed.Fingerprint(s.readDigest()),
			Status:            deed.Status(s.readText()),
			RemoteSystem:      s.readText(),
			RemoteID:          s.readText(),
			RemoteURL:         s.readText(),
			CommittedAt:       s.readMoment(),
			OperationID:       deed.OperationID(s.readID(operationPrefix)),
			Attempt:           int(s.readInteger()),
			Established:       s.readText(),
			EstablishedBy:     s.readText(),
		}
		s.readDocument(&r.Items)
		r.ResultDigest = deed.Digest(s.readDigest())
		at.Receipts = append(at.Receipts, r)
	}
	return s.end()
}

func bindReceipt(s *statement, seq int64, number int, r *deed.Receipt) {
	s.integer(seq)
	s.integer(int64(number))
	s.text(r.IdempotencyKey)
	s.digest(string(r.EffectFingerprint))
	s.text(string(r.Status))
	s.text(r.RemoteSystem)
	s.text(r.RemoteID)
	s.text(r.RemoteURL)
	s.moment(r.CommittedAt)
	s.operationID(string(r.OperationID))
	s.integer(int64(r.Attempt))
	s.text(r.Established)
	s.text(r.EstablishedBy)
	s.document(r.Items, r.Items == nil)
	s.digest(string(r.ResultDigest))
}
