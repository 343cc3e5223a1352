-- Whose outgoing transfers a network's follower reads: the signer's wallets, and the treasury.
CREATE TABLE own_wallets (
  -- Rising: a follower that knows the newest knows all.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  network TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('refund', 'gas', 'treasury')),
  key TEXT NOT NULL,
  UNIQUE (network, key, role)
) STRICT;

-- Token transfers out of these wallets. What an attempt of ours explains is deleted once it is final: the attempt tells it.
CREATE TABLE outgoing_transfers (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  network TEXT NOT NULL,
  block_hash TEXT NOT NULL,
  block_number INTEGER NOT NULL,
  tx TEXT NOT NULL,
  position INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('refund', 'gas', 'treasury')),
  from_key TEXT NOT NULL,
  to_key TEXT NOT NULL,
  currency TEXT NOT NULL CHECK (currency IN ('USDT', 'USDC')),
  units TEXT NOT NULL CHECK (units NOT GLOB '*[^0-9]*' AND units NOT IN ('', '0')),
  -- open: not judged yet. foreign: final, and nothing explains it. known: an operator thawed money out since.
  -- recorded: the treasury's, only the newest of them.
  state TEXT NOT NULL CHECK (state IN ('open', 'foreign', 'known', 'recorded')),
  seen_at_ms INTEGER NOT NULL,
  UNIQUE (network, block_hash, tx, position, from_key)
) STRICT;
CREATE INDEX outgoing_by_state ON outgoing_transfers (network, state, block_number);
CREATE INDEX outgoing_by_payee ON outgoing_transfers (network, to_key) WHERE state IN ('open', 'foreign');

-- Open refunds by payee: what a transfer that no attempt explains may have paid.
CREATE INDEX payouts_by_payee ON payouts (network, intent ->> '$.to') WHERE kind = 'refund' AND state IN ('waiting', 'sent', 'stuck');
