-- The ledger. The words are those of the glossary in docs/architecture.md.
--
-- Every primary key starts with the tenant, so that a database that
-- distributes its tables can distribute these by it; deed_ledger and
-- deed_settings are small and belong on every node. Times are microseconds
-- since 1970 in UTC. Text that PostgreSQL cannot hold, or that is too long
-- for an index, is written in another form after the character U+FDD0.

CREATE TABLE deed_ledger (
  one        boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- The number of the newest migration.
  version    integer NOT NULL,
  -- The oldest program version, by the number of its newest migration, that
  -- reads this ledger correctly.
  min_reader integer NOT NULL
);

CREATE TABLE deed_operations (
  tenant            text COLLATE "C" NOT NULL,
  id                text COLLATE "C" NOT NULL,
  actor             text COLLATE "C" NOT NULL,
  tool              text COLLATE "C" NOT NULL,
  fingerprint       text COLLATE "C" NOT NULL,
  fingerprint_rules text COLLATE "C" NOT NULL,
  matter            text COLLATE "C" NOT NULL,
  status            text COLLATE "C" NOT NULL,
  reason            text COLLATE "C" NOT NULL,
  version           bigint NOT NULL,
  -- Rises with every write of the row, also with those that move no version.
  revision          bigint NOT NULL,
  -- 0 while the operation is unresolved, pending or undelivered, otherwise
  -- the number of its status: twins are found by it.
  standing          smallint NOT NULL,
  -- Executing, waiting for input, or uncertain and not abandoned.
  unresolved        boolean NOT NULL,
  begun_at          bigint,
  delivered_at      bigint,
  -- The next moment at which time alone moves the operation.
  lapses_at         bigint,
  retain_until      bigint,
  -- Retention has something to remove: settled, with arguments or a result.
  kept              boolean NOT NULL,
  -- The whole operation as JSON, without what has a column after this one.
  record            text NOT NULL,
  -- One JSON document to a line; writes only ever add lines.
  receipts          text NOT NULL,
  -- The snapshot that every attempt sends, and the answer of the upstream.
  arguments         bytea,
  result            bytea,
  PRIMARY KEY (tenant, id),
  -- Read anew for every statement that writes, so it is one, and a short one.
  CONSTRAINT deed_operations_consistent CHECK (version > 0 AND standing >= 0 AND CASE status
    WHEN 'executing' THEN unresolved AND standing = 0 AND begun_at IS NOT NULL AND lapses_at IS NOT NULL
    WHEN 'awaiting_input' THEN unresolved AND standing = 0 AND begun_at IS NOT NULL AND lapses_at IS NOT NULL
    WHEN 'committed' THEN NOT unresolved AND receipts <> '' AND standing = (delivered_at IS NOT NULL)::int
    WHEN 'uncertain' THEN begun_at IS NOT NULL AND unresolved = (reason <> 'abandoned') AND standing = CASE WHEN unresolved THEN 0 ELSE 6 END
    ELSE NOT unresolved AND standing = CASE status WHEN 'failed' THEN 2 WHEN 'denied' THEN 3 WHEN 'cancelled' THEN 4 WHEN 'expired' THEN 5
      WHEN 'awaiting_approval' THEN 0 WHEN 'authorized' THEN 0 ELSE -1 END END)
) WITH (toast_tuple_target = 8160); -- rows of usual size are not compressed

-- The fingerprint comes first: while the table is empty, the planner takes any
-- index that has tenant before id for as good as the primary key, and a plan
-- that it makes then is kept.
CREATE INDEX deed_operations_fingerprint ON deed_operations (fingerprint, tool, tenant, standing, id);
CREATE INDEX deed_operations_matter ON deed_operations (tenant, tool, matter, standing, id) WHERE matter <> '';
-- Listings of a tool that is rare are read along these two.
CREATE INDEX deed_operations_begun ON deed_operations (tenant, tool, matter, begun_at) WHERE begun_at IS NOT NULL;
CREATE INDEX deed_operations_unbegun ON deed_operations (tenant, tool, id) WHERE begun_at IS NULL;
-- Its entries are alike and soon dead. Lists of alike ones are kept while one of
-- them lives, and every reader would look at all the others.
CREATE INDEX deed_operations_unresolved ON deed_operations (tenant, tool, fingerprint_rules) WITH (deduplicate_items = off) WHERE unresolved;
CREATE INDEX deed_operations_status ON deed_operations (tenant, status, id) WHERE status NOT IN ('committed', 'executing');
CREATE INDEX deed_operations_lapses ON deed_operations (lapses_at) WHERE lapses_at IS NOT NULL;
-- Evidence disagrees. A text in the record never matches: its quotes are escaped.
CREATE INDEX deed_operations_flagged ON deed_operations (tenant, id)
  WHERE status <> 'executing' AND (strpos(record, '"diverged":true') > 0 OR strpos(record, '"contradicted":true') > 0);
CREATE INDEX deed_operations_retention ON deed_operations (retain_until) WHERE kept;

-- Every name of an operation: the key it was begun under and its aliases.
CREATE TABLE deed_keys (
  tenant     text COLLATE "C" NOT NULL,
  text       text COLLATE "C" NOT NULL,
  family     text COLLATE "C" NOT NULL,
  actor      text COLLATE "C" NOT NULL,
  generation integer NOT NULL,
  provenance text COLLATE "C" NOT NULL,
  operation  text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, text, family, actor, generation)
);

-- What two begins about the same effect lock: a slot for the fingerprint,
-- then one for the matter. Slots are hashes, so their number is bounded; two
-- effects that share one by chance wait for each other and nothing else.
CREATE TABLE deed_locks (
  tenant text COLLATE "C" NOT NULL,
  slot   integer NOT NULL,
  PRIMARY KEY (tenant, slot)
);

CREATE TABLE deed_events (
  tenant      text COLLATE "C" NOT NULL,
  -- The order of writing: the database's time, then the writer, then the
  -- place within its transaction.
  placed      bigint NOT NULL,
  writer      bigint NOT NULL,
  place       integer NOT NULL,
  id          text COLLATE "C" NOT NULL,
  operation   text COLLATE "C" NOT NULL,
  version     bigint NOT NULL,
  at          bigint NOT NULL,
  name        text COLLATE "C" NOT NULL,
  actor       text COLLATE "C" NOT NULL,
  attempt     integer NOT NULL,
  status_from text COLLATE "C" NOT NULL,
  status_to   text COLLATE "C" NOT NULL,
  reason      text COLLATE "C" NOT NULL,
  tool        text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  data        bytea,
  PRIMARY KEY (tenant, placed, writer, place)
);

CREATE UNIQUE INDEX deed_events_operation ON deed_events (tenant, operation, id);
CREATE INDEX deed_events_conflict ON deed_events (tenant, tool, fingerprint, operation, placed DESC, writer DESC, place DESC)
  WHERE name = 'conflict';

-- What a process needs to know of the ledger itself: secrets, rules, pins.
CREATE TABLE deed_settings (
  name  text COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL
);

INSERT INTO deed_ledger (version, min_reader) VALUES (1, 1);
