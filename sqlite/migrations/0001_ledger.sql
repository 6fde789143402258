-- The ledger. The words are those of the glossary in docs/architecture.md.
--
-- Times are microseconds since 1970 in UTC, NULL for none. Ids are the 16
-- bytes behind their base32 text, digests the 32 bytes behind their hex; a
-- value of another shape is kept as it came, as text. Both compare bytewise.

CREATE TABLE ledger (
  -- The oldest program version, by the number of its newest migration, that
  -- reads this ledger correctly.
  min_reader INTEGER NOT NULL,
  -- Counts writes that were made only to be sure that a failed one is gone.
  touched    INTEGER NOT NULL
) STRICT;

INSERT INTO ledger (min_reader, touched) VALUES (1, 0);

CREATE TABLE operations (
  seq               INTEGER PRIMARY KEY,
  tenant            TEXT    NOT NULL,
  id                ANY     NOT NULL,
  actor             TEXT    NOT NULL,
  key_actor         TEXT    NOT NULL,
  key_family        TEXT    NOT NULL,
  key_text          TEXT    NOT NULL,
  key_generation    INTEGER NOT NULL,
  provenance        TEXT    NOT NULL,
  created_at        INTEGER,
  tool              TEXT    NOT NULL,
  effect            TEXT    NOT NULL,
  fingerprint       ANY     NOT NULL,
  fingerprint_rules ANY     NOT NULL,
  matter            TEXT    NOT NULL,
  upstream_identity TEXT    NOT NULL,
  meta              TEXT,

  definition        ANY     NOT NULL,
  rules_hash        ANY     NOT NULL,
  policy_revision   TEXT    NOT NULL,
  payload_digest    ANY     NOT NULL,
  status            TEXT    NOT NULL,
  reason            TEXT    NOT NULL,
  retryable         INTEGER NOT NULL,
  message           TEXT    NOT NULL,
  decided_by        TEXT    NOT NULL,
  no_more_attempts  INTEGER NOT NULL,
  diverged          INTEGER NOT NULL,
  contradicted      INTEGER NOT NULL,
  approval_lapsed   INTEGER NOT NULL,
  attempts          TEXT,
  begun_at          INTEGER,
  receipts          INTEGER NOT NULL,
  result_digest     ANY     NOT NULL,
  result_is_error   INTEGER NOT NULL,
  request_state     ANY     NOT NULL,
  inputs            ANY     NOT NULL,
  answered_state    ANY     NOT NULL,
  supersedes        ANY     NOT NULL,
  superseded_by     ANY     NOT NULL,
  approval          TEXT,
  proposed_at       INTEGER,
  authorized_at     INTEGER,
  expires_at        INTEGER,
  lease_expires_at  INTEGER,
  input_expires_at  INTEGER,
  retry_at          INTEGER,
  settled_at        INTEGER,
  delivered_at      INTEGER,
  dispatch_by       INTEGER,
  retain_until      INTEGER,
  version           INTEGER NOT NULL,
  -- The next moment at which time alone moves the operation.
  lapses_at         INTEGER,
  -- 1 while retention has something to remove: settled, with arguments or a
  -- result.
  kept              INTEGER NOT NULL,
  -- 0 while the operation is unresolved, pending or undelivered, otherwise
  -- the number of its status: twins are found by it.
  standing          INTEGER NOT NULL,

  -- SQLite makes a table of every list after IN that is longer than two, anew
  -- for each row that is checked: these conditions are spelled out instead.
  CHECK (status = 'executing' OR status = 'committed' OR status = 'failed' OR status = 'uncertain'
      OR status = 'awaiting_approval' OR status = 'authorized' OR status = 'awaiting_input'
      OR status = 'denied' OR status = 'cancelled' OR status = 'expired'),
  CHECK ((status = 'executing') = (lease_expires_at IS NOT NULL)),
  CHECK ((status = 'awaiting_input') = (input_expires_at IS NOT NULL)),
  CHECK (retryable = 0 OR status = 'failed'),
  CHECK (status <> 'committed' OR receipts > 0),
  CHECK (begun_at IS NOT NULL OR status <> 'executing' AND status <> 'awaiting_input' AND status <> 'uncertain'),
  CHECK (settled_at IS NOT NULL OR status = 'executing' OR status = 'awaiting_approval'
      OR status = 'authorized' OR status = 'awaiting_input'),
  CHECK (standing = CASE
    WHEN status = 'executing' THEN 0
    WHEN status = 'committed' THEN (delivered_at IS NOT NULL) * 1
    WHEN status = 'failed' THEN 2
    WHEN status = 'denied' THEN 3
    WHEN status = 'cancelled' THEN 4
    WHEN status = 'expired' THEN 5
    WHEN status = 'uncertain' AND reason = 'abandoned' THEN 6
    ELSE 0 END),
  CHECK (version > 0)
) STRICT;

CREATE UNIQUE INDEX operations_id ON operations (tenant, id);
-- Listings of a tool that is rare are read along it too.
CREATE INDEX operations_fingerprint ON operations (tenant, tool, fingerprint, standing, id DESC);
CREATE INDEX operations_matter ON operations (tenant, matter, tool, standing, id DESC)
  WHERE matter <> '';
CREATE INDEX operations_begun ON operations (tenant, matter, tool, begun_at)
  WHERE begun_at IS NOT NULL;
CREATE INDEX operations_status ON operations (tenant, status, id)
  WHERE status NOT IN ('committed', 'executing');
CREATE INDEX operations_unresolved ON operations (tenant, tool, fingerprint_rules)
  WHERE standing = 0 AND (status = 'executing' OR status = 'awaiting_input' OR status = 'uncertain');
CREATE INDEX operations_lapses ON operations (lapses_at) WHERE lapses_at IS NOT NULL;
CREATE INDEX operations_flagged ON operations (tenant, id DESC)
  WHERE (diverged = 1 OR contradicted = 1) AND status <> 'executing';
CREATE INDEX operations_retention ON operations (retain_until) WHERE kept = 1;

-- Every name of an operation: the key it was begun under and its aliases.
CREATE TABLE keys (
  tenant     TEXT    NOT NULL,
  text       TEXT    NOT NULL,
  family     TEXT    NOT NULL,
  actor      TEXT    NOT NULL,
  generation INTEGER NOT NULL,
  provenance TEXT    NOT NULL,
  operation  INTEGER NOT NULL REFERENCES operations (seq),
  PRIMARY KEY (tenant, text, family, actor, generation)
) STRICT, WITHOUT ROWID;

-- The snapshot that every attempt sends.
CREATE TABLE arguments (
  operation INTEGER PRIMARY KEY REFERENCES operations (seq),
  bytes     BLOB NOT NULL
) STRICT;

-- The stored answer of the upstream.
CREATE TABLE results (
  operation INTEGER PRIMARY KEY REFERENCES operations (seq),
  bytes     BLOB NOT NULL
) STRICT;

CREATE TABLE receipts (
  operation          INTEGER NOT NULL REFERENCES operations (seq),
  number             INTEGER NOT NULL,
  idempotency_key    TEXT    NOT NULL,
  effect_fingerprint ANY     NOT NULL,
  status             TEXT    NOT NULL,
  remote_system      TEXT    NOT NULL,
  remote_id          TEXT    NOT NULL,
  remote_url         TEXT    NOT NULL,
  committed_at       INTEGER,
  operation_id       ANY     NOT NULL,
  attempt            INTEGER NOT NULL,
  established        TEXT    NOT NULL,
  established_by     TEXT    NOT NULL,
  items              TEXT,
  result_digest      ANY     NOT NULL,
  PRIMARY KEY (operation, number)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER receipts_stay BEFORE UPDATE ON receipts
BEGIN SELECT RAISE(ABORT, 'a receipt never changes'); END;
CREATE TRIGGER receipts_remain BEFORE DELETE ON receipts
BEGIN SELECT RAISE(ABORT, 'a receipt is never removed'); END;

CREATE TABLE events (
  seq         INTEGER PRIMARY KEY,
  id          ANY     NOT NULL,
  tenant      TEXT    NOT NULL,
  operation   ANY     NOT NULL,
  version     INTEGER NOT NULL,
  at          INTEGER,
  name        TEXT    NOT NULL,
  actor       TEXT    NOT NULL,
  attempt     INTEGER NOT NULL,
  status_from TEXT    NOT NULL,
  status_to   TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  tool        TEXT    NOT NULL,
  fingerprint ANY     NOT NULL,
  data        BLOB
) STRICT;

CREATE INDEX events_operation ON events (operation) WHERE operation <> '';
CREATE INDEX events_conflict ON events (tenant, tool, fingerprint) WHERE name = 'conflict';

CREATE TRIGGER events_stay BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'an event never changes'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'an event is never removed'); END;

-- What a process needs to know of the ledger itself: secrets, rules, pins.
CREATE TABLE settings (
  name  TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
