-- Consents that were given elsewhere, and money that attempts set aside. An
-- older program reads the ledger as before: it leaves these tables alone.

-- A consent counts for one operation, for ever.
CREATE TABLE consents (
  tenant    TEXT NOT NULL,
  id        TEXT NOT NULL,
  operation ANY  NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER consents_stay BEFORE UPDATE ON consents
BEGIN SELECT RAISE(ABORT, 'a spent consent never changes'); END;
CREATE TRIGGER consents_remain BEFORE DELETE ON consents
BEGIN SELECT RAISE(ABORT, 'a spent consent is never removed'); END;

-- What each attempt takes from a budget, in millionths of the currency's unit.
CREATE TABLE bookings (
  operation INTEGER NOT NULL REFERENCES operations (seq),
  attempt   INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  tenant    TEXT    NOT NULL,
  budget    TEXT    NOT NULL,
  -- Whose part of the budget it is: '' for the tenant's one.
  share     TEXT    NOT NULL,
  currency  TEXT    NOT NULL,
  amount    INTEGER NOT NULL,
  state     TEXT    NOT NULL CHECK (state IN ('held', 'spent', 'released')),
  at        INTEGER,
  PRIMARY KEY (operation, attempt, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX bookings_held ON bookings (tenant, budget, currency, share, amount) WHERE state = 'held';
CREATE INDEX bookings_spent ON bookings (tenant, budget, currency, share, at, amount) WHERE state = 'spent';
