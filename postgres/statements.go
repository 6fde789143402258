// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

// The columns of an operation, in the order in which operation.go reads them.
const (
	lightColumns = `o.revision, o.delivered_at, o.arguments IS NOT NULL OR o.result IS NOT NULL, o.record, o.receipts`
	wholeColumns = lightColumns + `, o.arguments, o.result`
)

// now is the database's clock in microseconds.
const now = `(extract(epoch from clock_timestamp()) * 1000000)::bigint`

// Statements that open a write transaction.
const (
	// sqlBegin names the isolation, whatever the database's default is: what is
	// read after waiting for a lock must show what its holder wrote.
	sqlBegin = `begin isolation level read committed`

	// sqlSettings holds for the transaction only, so that a pooler may hand the
	// connection to others in between. A commit is made to wait for the disk
	// whatever the default is; one that stops in the middle ends by itself; and
	// plans are those for large tables also while statistics say otherwise.
	sqlSettings = `SELECT version, set_config('lock_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true),
		set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true),
		set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
		set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)
		FROM deed_ledger`

	// sqlLockSlots locks rows that exist and makes those that do not, in order.
	sqlLockSlots = `INSERT INTO deed_locks (tenant, slot) SELECT $1, slot FROM unnest($2::int[]) slot ORDER BY slot
		ON CONFLICT (tenant, slot) DO UPDATE SET slot = excluded.slot WHERE false`

	// sqlLockOperations locks, in order, what a batch is going to touch: its
	// requests name operations in more than one way.
	sqlLockOperations = `SELECT 1 FROM (SELECT DISTINCT ids.id FROM (
			SELECT unnest($2::text[]) AS id UNION ALL
			SELECT k.operation FROM unnest($3::text[], $4::text[], $5::text[]) q(text, family, actor) CROSS JOIN LATERAL (
				SELECT k.operation FROM deed_keys k WHERE k.tenant = $1 AND k.text = q.text AND k.family = q.family AND k.actor = q.actor OFFSET 0) k
			) ids ORDER BY ids.id) ids
		CROSS JOIN LATERAL (SELECT 1 FROM deed_operations o WHERE o.tenant = $1 AND o.id = ids.id LIMIT 1 FOR UPDATE) o`

	sqlDeliver = `UPDATE deed_operations o SET delivered_at = u.at, revision = o.revision + 1,
			standing = CASE WHEN o.status = 'committed' THEN 1 ELSE o.standing END
		FROM unnest($1::text[], $2::text[], $3::bigint[]) u(tenant, id, at)
		WHERE o.tenant = u.tenant AND o.id = u.id AND o.delivered_at IS NULL`
)

// Statements that read a scope. The first column of each is the number of the
// request in its batch. Each row that is asked for is looked up by itself, in
// a subquery with a limit: the planner, which may have made its plan while the
// tables were empty, has no other way than the index.
const (
	// laterColumn answers Scope.Later for a row.
	laterColumn = `CASE WHEN q.later AND o.begun_at IS NOT NULL THEN EXISTS (
			SELECT 1 FROM deed_operations l WHERE l.tenant = $1 AND l.tool = o.tool AND l.matter = o.matter
			AND l.begun_at >= o.begun_at AND l.id <> o.id) ELSE false END`

	sqlByID = `SELECT q.n, ` + laterColumn + `, ` + wholeColumns + `
		FROM unnest($2::int[], $3::text[], $4::bool[]) q(n, id, later)
		CROSS JOIN LATERAL (SELECT * FROM deed_operations o WHERE o.tenant = $1 AND o.id = q.id LIMIT 1`

	// sqlByKey also finds the older generations when lineage is asked for.
	sqlByKey = `SELECT q.n, ` + laterColumn + `, q.rank, k.generation, k.provenance, ` + wholeColumns + `
		FROM unnest($2::int[], $3::int[], $4::text[], $5::text[], $6::text[], $7::int[], $8::bool[], $9::bool[])
			q(n, rank, text, family, actor, generation, lineage, later)
		CROSS JOIN LATERAL (
			SELECT k.generation, k.provenance, k.operation FROM deed_keys k
			WHERE k.tenant = $1 AND k.text = q.text AND k.family = q.family AND k.actor = q.actor
			AND (q.generation = 0 OR k.generation <= q.generation)
			ORDER BY k.generation DESC LIMIT CASE WHEN q.lineage THEN NULL ELSE 1 END) k
		CROSS JOIN LATERAL (SELECT * FROM deed_operations o WHERE o.tenant = $1 AND o.id = k.operation LIMIT 1`

	// One of these ends the two before.
	forUpdate = ` FOR UPDATE) o`
	forShow   = `) o`

	// sqlLineage reads the older generations of operations named by their ids.
	sqlLineage = `SELECT q.n, k.generation, k.provenance, ` + wholeColumns + `
		FROM unnest($2::int[], $3::text[]) q(n, id)
		JOIN deed_operations named ON named.tenant = $1 AND named.id = q.id
		CROSS JOIN LATERAL (SELECT named.record::json -> 'key' AS key) parts
		JOIN deed_keys k ON k.tenant = $1 AND k.text = key ->> 'text' AND k.family = key ->> 'family'
			AND k.actor = coalesce(key ->> 'actor', '') AND k.generation < (key ->> 'generation')::int
		JOIN deed_operations o ON o.tenant = $1 AND o.id = k.operation ORDER BY k.generation DESC`

	// A lane has all of the open equals and the newest two of each other
	// standing: one of the two may be the named operation itself. Nearly always
	// nobody is alike, or a few: that is asked before the standings are looked
	// up one by one. Every look-up wants the order of its index, which leaves
	// the planner no other index to take.
	sqlTwins = `SELECT q.n, ` + lightColumns + `, o.standing, 0 FROM unnest($2::int[], $3::text[], $4::text[]) q(n, tool, fingerprint)
		CROSS JOIN LATERAL (SELECT count(*) FROM (SELECT FROM deed_operations e WHERE ` + alikeFingerprint + newest + ` LIMIT 4) e) alike
		CROSS JOIN LATERAL (` + laneFingerprint + `) o
		UNION ALL
		SELECT q.n, ` + lightColumns + `, o.standing, 1 FROM unnest($5::int[], $6::text[], $7::text[]) q(n, tool, matter)
		CROSS JOIN LATERAL (SELECT count(*) FROM (SELECT FROM deed_operations e WHERE ` + alikeMatter + newest + ` LIMIT 4) e) alike
		CROSS JOIN LATERAL (` + laneMatter + `) o`

	laneFingerprint = laneOf + alikeFingerprint + laneOpen + alikeFingerprint + laneSettled + alikeFingerprint + laneEnd
	laneMatter      = laneOf + alikeMatter + laneOpen + alikeMatter + laneSettled + alikeMatter + laneEnd

	alikeFingerprint = `e.tenant = $1 AND e.tool = q.tool AND e.fingerprint = q.fingerprint`
	alikeMatter      = `e.tenant = $1 AND e.tool = q.tool AND e.matter = q.matter AND e.matter <> ''`
	newest           = ` ORDER BY e.standing DESC, e.id DESC`

	laneOf      = `(SELECT * FROM deed_operations e WHERE alike.count IN (1, 2, 3) AND `
	laneOpen    = newest + ` LIMIT 3) UNION ALL (SELECT * FROM deed_operations e WHERE alike.count = 4 AND e.standing = 0 AND `
	laneSettled = newest + `) UNION ALL SELECT e.* FROM generate_series(1, CASE alike.count WHEN 4 THEN 6 END) s CROSS JOIN LATERAL (
		SELECT * FROM deed_operations e WHERE e.standing = s AND `
	laneEnd = newest + ` LIMIT 2) e`

	// sqlRefused reads the newest conflict of each operation that refused one
	// of the fingerprints.
	sqlRefused = `SELECT q.n, e.placed, e.writer, e.place, e.at, ` + lightColumns + `
		FROM unnest($2::int[], $3::text[], $4::text[]) q(n, tool, fingerprint)
		CROSS JOIN LATERAL (
			SELECT DISTINCT ON (e.operation) e.operation, e.placed, e.writer, e.place, e.at FROM deed_events e
			WHERE e.tenant = $1 AND e.tool = q.tool AND e.fingerprint = q.fingerprint AND e.name = 'conflict'
			ORDER BY e.operation, e.placed DESC, e.writer DESC, e.place DESC) e
		CROSS JOIN LATERAL (SELECT * FROM deed_operations o WHERE o.tenant = $1 AND o.id = e.operation LIMIT 1) o`

	// sqlRules hops along an index from one set of rules to the next, and reads
	// the rules in force of the same tools.
	sqlRules = `WITH RECURSIVE hop(tool, rules) AS (
			SELECT t.tool, (SELECT o.fingerprint_rules FROM deed_operations o WHERE o.tenant = $1 AND o.tool = t.tool AND o.unresolved
				ORDER BY o.fingerprint_rules LIMIT 1) FROM unnest($2::text[]) t(tool)
			UNION ALL
			SELECT hop.tool, (SELECT o.fingerprint_rules FROM deed_operations o WHERE o.tenant = $1 AND o.tool = hop.tool AND o.unresolved
				AND o.fingerprint_rules > hop.rules ORDER BY o.fingerprint_rules LIMIT 1) FROM hop WHERE hop.rules IS NOT NULL)
		SELECT tool, rules, NULL::bytea FROM hop WHERE rules IS NOT NULL
		UNION ALL SELECT t.tool, NULL, s.value FROM unnest($2::text[], $3::text[]) t(tool, name) JOIN deed_settings s ON s.name = t.name`

	sqlWritten = `SELECT q.n FROM unnest($2::int[], $3::text[], $4::text[]) q(n, operation, id)
		CROSS JOIN LATERAL (SELECT 1 FROM deed_events e WHERE e.tenant = $1 AND e.operation = q.operation AND e.id = q.id LIMIT 1) e`

	sqlClock = `SELECT ` + now + `, version, min_reader FROM deed_ledger`
)

// Statements that write a change. Each of them fails, by a division by zero,
// unless it wrote as many rows as it should: they are sent together with the
// COMMIT, which must not follow a half of them. An update takes the tenant
// from its rows too, so that it can only be planned as a look-up of each.
const (
	guardOpen  = `WITH written AS (`
	guardClose = ` RETURNING 1) SELECT 1 / (CASE WHEN count(*) = $2::bigint THEN 1 ELSE 0 END) FROM written`

	operationArrays = `unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
		$11::bigint[], $12::bigint[], $13::smallint[], $14::bool[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bool[],
		$20::text[], $21::text[], $22::bytea[], $23::bytea[]`
	operationNames = `id, actor, tool, fingerprint, fingerprint_rules, matter, status, reason, version, revision, standing, unresolved,
		begun_at, delivered_at, lapses_at, retain_until, kept, record, receipts, arguments, result`

	sqlInsertOperations = guardOpen + `INSERT INTO deed_operations (tenant, ` + operationNames + `)
		SELECT $1, u.* FROM ` + operationArrays + `) u(` + operationNames + `)
		ON CONFLICT (tenant, id) DO NOTHING` + guardClose

	sqlUpdateOperations = guardOpen + `UPDATE deed_operations o SET tool = u.tool, fingerprint = u.fingerprint,
			fingerprint_rules = u.fingerprint_rules, matter = u.matter, status = u.status, reason = u.reason, version = u.version,
			revision = o.revision + 1, standing = u.standing, unresolved = u.unresolved, begun_at = u.begun_at,
			delivered_at = u.delivered_at, lapses_at = u.lapses_at, retain_until = u.retain_until, kept = u.kept, record = u.record,
			receipts = o.receipts || u.receipts,
			arguments = CASE WHEN u.new_arguments THEN u.arguments ELSE o.arguments END,
			result = CASE WHEN u.new_result THEN u.result ELSE o.result END
		FROM ` + operationArrays + `, $24::bool[], $25::bool[], $1::text[]) u(` + operationNames + `, new_arguments, new_result, tenant)
		WHERE o.tenant = u.tenant AND o.id = u.id AND o.revision = u.revision` + guardClose

	// A key that names the operation already stays; one that names another is
	// not written, and the guard says so.
	sqlBindKeys = guardOpen + `INSERT INTO deed_keys AS k (tenant, text, family, actor, generation, provenance, operation)
		SELECT $1, u.* FROM unnest($3::text[], $4::text[], $5::text[], $6::int[], $7::text[], $8::text[])
			u(text, family, actor, generation, provenance, operation) ORDER BY 2, 3, 4, 5
		ON CONFLICT (tenant, text, family, actor, generation) DO UPDATE SET operation = excluded.operation
			WHERE k.operation = excluded.operation` + guardClose

	// Whoever follows the events asks for those after the last that they have seen: a
	// clock that was set back, or that of the server which took over, places none
	// before it.
	sqlInsertEvents = `INSERT INTO deed_events (tenant, placed, writer, place, id, operation, version, at, name, actor, attempt,
			status_from, status_to, reason, tool, fingerprint, data)
		SELECT $1, t.placed, $2, u.* FROM (SELECT greatest(` + now + `, (SELECT l.placed + 1 FROM deed_events l WHERE l.tenant = $1 ORDER BY l.placed DESC LIMIT 1)) AS placed) t
			CROSS JOIN unnest($3::int[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
			$8::text[], $9::text[], $10::int[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::bytea[])
			u(place, id, operation, version, at, name, actor, attempt, status_from, status_to, reason, tool, fingerprint, data)
		ON CONFLICT (tenant, operation, id) DO NOTHING`
)
