-- Sweeps: what each one takes from which address, and what was left at the last look.

-- One row for each address that a sweep empties, out of the sweep's intent: the same facts, found by address.
CREATE TABLE sweep_parts (
  payout_id TEXT NOT NULL REFERENCES payouts (id),
  network TEXT NOT NULL,
  derivation_index INTEGER NOT NULL CHECK (derivation_index >= 0),
  currency TEXT NOT NULL CHECK (currency IN ('USDT', 'USDC')),
  -- Whose index it is; null where only the signer's journal told of the sweep, which then counts for any pool.
  pool_id INTEGER REFERENCES pools (id),
  units TEXT NOT NULL CHECK (units NOT GLOB '*[^0-9]*' AND units NOT IN ('', '0')),
  PRIMARY KEY (payout_id, derivation_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX sweep_parts_by_owner ON sweep_parts (network, derivation_index);

-- Addresses that may have received something, in order.
CREATE INDEX addresses_given ON addresses (pool_id, id) WHERE state <> 'free';

INSERT INTO sweep_parts (payout_id, network, derivation_index, currency, pool_id, units)
SELECT p.id, p.network, part.value ->> 'index', p.intent ->> 'currency', NULL, part.value ->> 'units'
FROM payouts AS p, json_each(p.intent, '$.from') AS part WHERE p.kind = 'sweep';

-- What the engine found on collection addresses last.
CREATE TABLE unswept_levels (
  network TEXT NOT NULL,
  currency TEXT NOT NULL CHECK (currency IN ('USDT', 'USDC')),
  owners INTEGER NOT NULL CHECK (owners >= 0),
  units TEXT NOT NULL CHECK (units NOT GLOB '*[^0-9]*' AND units <> ''),
  open_units TEXT NOT NULL CHECK (open_units NOT GLOB '*[^0-9]*' AND open_units <> ''),
  read_at_ms INTEGER NOT NULL,
  PRIMARY KEY (network, currency)
) STRICT, WITHOUT ROWID;
