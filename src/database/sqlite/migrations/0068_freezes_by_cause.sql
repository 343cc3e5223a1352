-- One freeze for each cause: an operator's no longer hides another one of the same network. SQLite cannot change a
-- primary key, so the table is copied.
CREATE TABLE payout_freezes_copy (
  -- A network's key; empty: every network.
  network TEXT NOT NULL,
  code TEXT NOT NULL,
  reason TEXT NOT NULL,
  -- The operator's user, or what froze it by itself.
  frozen_by TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  PRIMARY KEY (network, code)
) STRICT;
INSERT INTO payout_freezes_copy (network, code, reason, frozen_by, since_ms)
  SELECT network, code, reason, frozen_by, since_ms FROM payout_freezes;
DROP TABLE payout_freezes;
ALTER TABLE payout_freezes_copy RENAME TO payout_freezes;
