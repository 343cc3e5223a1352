-- Running sums for each session, so that a step costs what is new in it and not what has piled up on an address.

-- Below the token's dust floor: a fact that touches no session, is not confirmed and is not booked.
ALTER TABLE transfers ADD COLUMN dust INTEGER NOT NULL DEFAULT 0 CHECK (dust IN (0, 1));
-- When its transaction came, as the session's terms count it; null for what touches no session.
ALTER TABLE transfers ADD COLUMN phase TEXT CHECK (phase IN ('in_time', 'top_up', 'late', 'too_late'));
-- Which of its session's sums contains it.
ALTER TABLE transfers ADD COLUMN counted TEXT NOT NULL DEFAULT 'none'
  CHECK (counted IN ('none', 'seen', 'confirmed', 'final'));

-- JSON: see core/session. Null until the first change of a session that is older than this table.
ALTER TABLE sessions ADD COLUMN sums TEXT;
-- Its transfers that are not dust, orphaned ones included.
ALTER TABLE sessions ADD COLUMN payment_count INTEGER NOT NULL DEFAULT 0;

UPDATE sessions SET payment_count = (
  SELECT count(*) FROM addresses AS a JOIN transfers AS t ON t.address_id = a.id WHERE a.session_id = sessions.id
);
UPDATE sessions SET sums = '[]' WHERE payment_count = 0;

DROP INDEX transfers_by_address;
DROP INDEX transfers_unconfirmed;
-- The payments of a session, newest first.
CREATE INDEX transfers_by_address ON transfers (address_id) WHERE dust = 0;
-- Whether a transaction is known, and since when.
CREATE INDEX transfers_by_tx ON transfers (address_id, tx, network, phase);
CREATE INDEX transfers_unconfirmed ON transfers (network) WHERE confirmed = 0 AND dust = 0;
