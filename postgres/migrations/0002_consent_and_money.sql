-- Consents that were given elsewhere, and money that attempts set aside. An
-- older program reads the ledger as before: it leaves these tables alone.

-- A consent counts for one operation, for ever.
CREATE TABLE deed_consents (
  tenant    text COLLATE "C" NOT NULL,
  id        text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, id)
);

-- What each attempt takes from a budget, in millionths of the currency's unit.
CREATE TABLE deed_bookings (
  tenant    text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  attempt   integer NOT NULL,
  number    integer NOT NULL,
  budget    text COLLATE "C" NOT NULL,
  -- Whose part of the budget it is: '' for the tenant's one.
  share     text COLLATE "C" NOT NULL,
  currency  text COLLATE "C" NOT NULL,
  amount    bigint NOT NULL,
  state     text COLLATE "C" NOT NULL CHECK (state IN ('held', 'spent', 'released')),
  at        bigint NOT NULL,
  PRIMARY KEY (tenant, operation, attempt, number)
);

CREATE INDEX deed_bookings_held ON deed_bookings (tenant, budget, currency, share, amount) WHERE state = 'held';
CREATE INDEX deed_bookings_spent ON deed_bookings (tenant, budget, currency, share, at, amount) WHERE state = 'spent';

UPDATE deed_ledger SET version = 2;
