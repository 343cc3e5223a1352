-- Native coin that went from one of our wallets to another is among what left them. SQLite cannot change a CHECK, so the
-- table is copied; no MAC changes by that.
CREATE TABLE outgoing_transfers_copy (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  network TEXT NOT NULL,
  block_hash TEXT NOT NULL,
  block_number INTEGER NOT NULL,
  tx TEXT NOT NULL,
  position INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('refund', 'gas', 'treasury')),
  from_key TEXT NOT NULL,
  to_key TEXT NOT NULL,
  currency TEXT NOT NULL CHECK (currency IN ('USDT', 'USDC', 'native')),
  units TEXT NOT NULL CHECK (units NOT GLOB '*[^0-9]*' AND units NOT IN ('', '0')),
  -- open: not judged yet. foreign: final, and nothing explains it. known: an operator thawed money out since.
  -- recorded: the treasury's, or it went to another wallet of ours; only the newest of them.
  state TEXT NOT NULL CHECK (state IN ('open', 'foreign', 'known', 'recorded')),
  seen_at_ms INTEGER NOT NULL,
  mac TEXT,
  UNIQUE (network, block_hash, tx, position, from_key)
) STRICT;
INSERT INTO outgoing_transfers_copy (id, network, block_hash, block_number, tx, position, role, from_key, to_key, currency,
    units, state, seen_at_ms, mac)
  SELECT id, network, block_hash, block_number, tx, position, role, from_key, to_key, currency, units, state, seen_at_ms, mac
  FROM outgoing_transfers;
DROP TABLE outgoing_transfers;
ALTER TABLE outgoing_transfers_copy RENAME TO outgoing_transfers;
CREATE INDEX outgoing_by_state ON outgoing_transfers (network, state, block_number);
CREATE INDEX outgoing_by_payee ON outgoing_transfers (network, to_key) WHERE state IN ('open', 'foreign');

-- Which attempt has a number, also one that was learned from the chain beside others of its payout.
CREATE INDEX attempts_by_number ON payout_attempts (network, payer, nonce) WHERE nonce IS NOT NULL;
