// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import "strings"

// statementID names a statement that every connection prepares once.
type statementID int

const (
	stmtBegin statementID = iota
	stmtBeginRead
	stmtCommit
	stmtRollback
	stmtSchemaVersion
	stmtDataVersion

	stmtByID
	stmtByKey
	stmtByKeyGeneration
	stmtLineage
	stmtReceipts
	stmtLater
	stmtFingerprintTwins
	stmtMatterTwins
	stmtRefused
	stmtLightByID
	stmtOtherRules
	stmtFresh
	stmtSetting
	stmtVersion
	stmtShare
	stmtConsent

	stmtInsertOperation
	stmtUpdateOutcome
	stmtUpdateState
	stmtUpdateWhole
	stmtInsertKey
	stmtKeyHolder
	stmtSeqByID
	stmtHasPayload
	stmtPutArguments
	stmtDeleteArguments
	stmtPutResult
	stmtDeleteResult
	stmtInsertReceipt
	stmtInsertEvent
	stmtDeliver
	stmtPutSetting
	stmtPutBooking
	stmtSpendConsent
	stmtExpired
	stmtForget
	stmtTouch

	statementCount
)

// The columns of an operation, in the order in which operation.go binds and
// reads them. Those that a change of state writes come last.
const (
	identityColumns = `o.tenant, o.id, o.actor, o.key_actor, o.key_family, o.key_text, o.key_generation, o.provenance, o.created_at`
	contentColumns  = `o.tool, o.effect, o.fingerprint, o.fingerprint_rules, o.matter, o.upstream_identity, o.meta`
	stateColumns    = `o.definition, o.rules_hash, o.policy_revision, o.payload_digest, o.status, o.reason, o.retryable, o.message,
		o.decided_by, o.no_more_attempts, o.diverged, o.contradicted, o.approval_lapsed, o.attempts, o.begun_at,
		o.receipts, o.result_digest, o.result_is_error, o.request_state, o.inputs, o.answered_state, o.supersedes,
		o.superseded_by, o.approval, o.proposed_at, o.authorized_at, o.expires_at, o.lease_expires_at,
		o.input_expires_at, o.retry_at, o.settled_at, o.delivered_at, o.dispatch_by, o.retain_until, o.version,
		o.lapses_at, o.kept`

	lightColumns = `o.seq, o.standing, ` + identityColumns + `, ` + contentColumns + `, ` + stateColumns
	wholeColumns = lightColumns + `, a.bytes, r.bytes`
	wholeTables  = ` LEFT JOIN arguments a ON a.operation = o.seq LEFT JOIN results r ON r.operation = o.seq `
)

// The same for updates. The standing is named only when it changes: it is in
// the indexes by which twins are found, and an update that names a column
// moves the entries of its indexes, changed or not.
const (
	stateSet = `definition=?, rules_hash=?, policy_revision=?, payload_digest=?, status=?, reason=?, retryable=?, message=?,
		decided_by=?, no_more_attempts=?, diverged=?, contradicted=?, approval_lapsed=?, attempts=?, begun_at=?,
		receipts=?, result_digest=?, result_is_error=?, request_state=?, inputs=?, answered_state=?, supersedes=?,
		superseded_by=?, approval=?, proposed_at=?, authorized_at=?, expires_at=?, lease_expires_at=?,
		input_expires_at=?, retry_at=?, settled_at=?, delivered_at=?, dispatch_by=?, retain_until=?, version=?,
		lapses_at=?, kept=?`
	// What the end of an attempt changes, as a rule: see bindOutcome.
	outcomeSet = `status=?, reason=?, retryable=?, message=?, attempts=?, receipts=?, result_digest=?, result_is_error=?,
		lease_expires_at=?, retry_at=?, settled_at=?, retain_until=?, version=?, lapses_at=?, kept=?`
	contentSet = `tool=?, effect=?, fingerprint=?, fingerprint_rules=?, matter=?, upstream_identity=?, meta=?`
)

func insertOperation() string {
	columns := strings.ReplaceAll(identityColumns+", "+contentColumns+", "+stateColumns+", o.standing", "o.", "")
	return "INSERT INTO operations (" + columns + ") VALUES (?" + strings.Repeat(", ?", strings.Count(columns, ",")) + ")"
}

// statementTexts is read only.
var statementTexts = [statementCount]string{
	stmtBegin:         `BEGIN IMMEDIATE`,
	stmtBeginRead:     `BEGIN`,
	stmtCommit:        `COMMIT`,
	stmtRollback:      `ROLLBACK`,
	stmtSchemaVersion: `PRAGMA user_version`,
	stmtDataVersion:   `PRAGMA data_version`,

	stmtByID: `SELECT ` + wholeColumns + ` FROM operations o` + wholeTables + `WHERE o.tenant=? AND o.id=?`,
	// Keys never mix families or actors; the newest generation answers.
	stmtByKey: `SELECT k.generation, k.provenance, ` + wholeColumns + ` FROM keys k JOIN operations o ON o.seq = k.operation` +
		wholeTables + `WHERE k.tenant=? AND k.text=? AND k.family=? AND k.actor=? ORDER BY k.generation DESC LIMIT 1`,
	stmtByKeyGeneration: `SELECT k.generation, k.provenance, ` + wholeColumns + ` FROM keys k JOIN operations o ON o.seq = k.operation` +
		wholeTables + `WHERE k.tenant=? AND k.text=? AND k.family=? AND k.actor=? AND k.generation=?`,
	stmtLineage: `SELECT ` + wholeColumns + ` FROM keys k JOIN operations o ON o.seq = k.operation` +
		wholeTables + `WHERE k.tenant=? AND k.text=? AND k.family=? AND k.actor=? AND k.generation<? ORDER BY k.generation DESC`,
	stmtReceipts: `SELECT idempotency_key, effect_fingerprint, status, remote_system, remote_id, remote_url, committed_at,
		operation_id, attempt, established, established_by, items, result_digest FROM receipts WHERE operation=? ORDER BY number`,
	stmtLater: `SELECT 1 FROM operations o INDEXED BY operations_begun WHERE o.tenant=? AND o.tool=? AND o.matter=?
		AND o.begun_at IS NOT NULL AND o.begun_at>=? AND o.seq<>? LIMIT 1`,
	stmtFingerprintTwins: `SELECT ` + lightColumns + ` FROM operations o INDEXED BY operations_fingerprint
		WHERE o.tenant=? AND o.tool=? AND o.fingerprint=? AND o.standing>=? ORDER BY o.standing, o.id DESC`,
	stmtMatterTwins: `SELECT ` + lightColumns + ` FROM operations o INDEXED BY operations_matter
		WHERE o.tenant=? AND o.tool=? AND o.matter=? AND o.matter <> '' AND o.standing>=? ORDER BY o.standing, o.id DESC`,
	stmtRefused: `SELECT seq, operation, at FROM events INDEXED BY events_conflict
		WHERE tenant=? AND tool=? AND fingerprint=? AND name='conflict' ORDER BY seq DESC`,
	stmtLightByID: `SELECT ` + lightColumns + ` FROM operations o WHERE o.tenant=? AND o.id=?`,
	stmtOtherRules: `SELECT fingerprint_rules FROM operations INDEXED BY operations_unresolved
		WHERE tenant=? AND tool=? AND fingerprint_rules>? AND standing = 0
		AND (status = 'executing' OR status = 'awaiting_input' OR status = 'uncertain') ORDER BY fingerprint_rules LIMIT 1`,
	// Whether anything is there of what a claim asks for, and the tool's rules in
	// force: of most claims nothing is.
	stmtFresh: `SELECT (SELECT value FROM settings WHERE name=?10),
		EXISTS (SELECT 1 FROM keys WHERE tenant=?1 AND text=?2 AND family=?3 AND actor=?4 AND generation=?5)
		OR EXISTS (SELECT 1 FROM operations INDEXED BY operations_fingerprint WHERE tenant=?1 AND tool=?6 AND fingerprint=?7)
		OR EXISTS (SELECT 1 FROM operations INDEXED BY operations_matter WHERE tenant=?1 AND tool=?6 AND matter=?8 AND matter <> '')
		OR EXISTS (SELECT 1 FROM events INDEXED BY events_conflict WHERE tenant=?1 AND tool=?6 AND fingerprint=?7 AND name='conflict')
		OR EXISTS (SELECT 1 FROM operations INDEXED BY operations_unresolved WHERE tenant=?1 AND tool=?6 AND fingerprint_rules<?9 AND standing = 0
			AND (status = 'executing' OR status = 'awaiting_input' OR status = 'uncertain'))
		OR EXISTS (SELECT 1 FROM operations INDEXED BY operations_unresolved WHERE tenant=?1 AND tool=?6 AND fingerprint_rules>?9 AND standing = 0
			AND (status = 'executing' OR status = 'awaiting_input' OR status = 'uncertain'))`,
	stmtSetting: `SELECT value FROM settings WHERE name=?`,
	stmtVersion: `SELECT version FROM operations WHERE tenant=? AND id=?`,

	// What a share of a budget holds, and what it spent since an instant.
	stmtShare: `SELECT 'held', ` + sumOfAmounts + ` FROM bookings INDEXED BY bookings_held
			WHERE tenant=?1 AND budget=?2 AND currency=?3 AND share=?4 AND state = 'held'
		UNION ALL SELECT 'spent', ` + sumOfAmounts + ` FROM bookings INDEXED BY bookings_spent
			WHERE tenant=?1 AND budget=?2 AND currency=?3 AND share=?4 AND state = 'spent' AND at>?5`,
	stmtConsent: `SELECT operation FROM consents WHERE tenant=? AND id=?`,

	stmtInsertOperation: insertOperation(),
	stmtUpdateOutcome:   `UPDATE operations SET ` + outcomeSet + ` WHERE seq=? AND version=?`,
	stmtUpdateState:     `UPDATE operations SET ` + stateSet + ` WHERE seq=? AND version=?`,
	stmtUpdateWhole:     `UPDATE operations SET ` + contentSet + `, ` + stateSet + `, standing=? WHERE seq=? AND version=?`,
	stmtInsertKey: `INSERT INTO keys (tenant, text, family, actor, generation, provenance, operation)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
	stmtKeyHolder:  `SELECT operation FROM keys WHERE tenant=? AND text=? AND family=? AND actor=? AND generation=?`,
	stmtSeqByID:    `SELECT seq FROM operations WHERE tenant=? AND id=?`,
	stmtHasPayload: `SELECT 1 WHERE EXISTS (SELECT 1 FROM arguments WHERE operation=?) OR EXISTS (SELECT 1 FROM results WHERE operation=?)`,
	stmtPutArguments: `INSERT INTO arguments (operation, bytes) VALUES (?, ?)
		ON CONFLICT DO UPDATE SET bytes = excluded.bytes`,
	stmtDeleteArguments: `DELETE FROM arguments WHERE operation=?`,
	stmtPutResult: `INSERT INTO results (operation, bytes) VALUES (?, ?)
		ON CONFLICT DO UPDATE SET bytes = excluded.bytes`,
	stmtDeleteResult: `DELETE FROM results WHERE operation=?`,
	stmtInsertReceipt: `INSERT INTO receipts (operation, number, idempotency_key, effect_fingerprint, status, remote_system,
		remote_id, remote_url, committed_at, operation_id, attempt, established, established_by, items, result_digest)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	stmtInsertEvent: `INSERT INTO events (id, tenant, operation, version, at, name, actor, attempt, status_from, status_to,
		reason, tool, fingerprint, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	stmtDeliver: `UPDATE operations SET delivered_at=?, standing = (status <> 'committed') * standing + (status = 'committed')
		WHERE tenant=? AND id=? AND delivered_at IS NULL`,
	stmtPutSetting: `INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value`,
	stmtPutBooking: `INSERT INTO bookings (operation, attempt, number, tenant, budget, share, currency, amount, state, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET amount = excluded.amount, state = excluded.state`,
	stmtSpendConsent: `INSERT INTO consents (tenant, id, operation) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
	stmtExpired: `SELECT seq FROM operations INDEXED BY operations_retention
		WHERE kept = 1 AND retain_until<? ORDER BY retain_until LIMIT ?`,
	stmtTouch:  `UPDATE ledger SET touched = touched + 1`,
	stmtForget: `UPDATE operations SET kept = 0 WHERE seq=?`,
}
