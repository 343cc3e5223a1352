-- Rotation of the refund and gas wallets: which of our wallets pays now, has paid, or would pay after the next rotations;
-- what former wallets still hold; and moves from a former wallet to a later one.
ALTER TABLE own_wallets ADD COLUMN standing TEXT NOT NULL DEFAULT 'current' CHECK (standing IN ('current', 'former', 'next'));

CREATE TABLE wallet_balances_copy (
  network TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('refund', 'gas')),
  key TEXT NOT NULL,
  -- 1: it paid before a rotation.
  is_former INTEGER NOT NULL DEFAULT 0 CHECK (is_former IN (0, 1)),
  -- By asset: a stablecoin or 'native', to base units as text.
  units TEXT NOT NULL CHECK (json_valid(units)),
  -- Assets of which more is needed.
  low TEXT NOT NULL CHECK (json_valid(low)),
  read_at_ms INTEGER NOT NULL,
  PRIMARY KEY (network, role, key)
) STRICT, WITHOUT ROWID;
INSERT INTO wallet_balances_copy (network, role, key, units, low, read_at_ms)
  SELECT network, role, key, units, low, read_at_ms FROM wallet_balances;
DROP TABLE wallet_balances;
ALTER TABLE wallet_balances_copy RENAME TO wallet_balances;
CREATE UNIQUE INDEX wallet_balances_current ON wallet_balances (network, role) WHERE is_former = 0;

-- SQLite cannot change a CHECK, so the table is copied.
CREATE TABLE payouts_copy (
  -- The payout of a refund or return has its id.
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('refund', 'return', 'sweep', 'gas', 'move')),
  network TEXT NOT NULL,
  intent TEXT NOT NULL CHECK (json_valid(intent)),
  -- Whose received money is given back. Null for what is no refund or return, and for what only the signer's journal knows.
  session_id TEXT REFERENCES sessions (id),
  -- The payout that this one makes possible (gas for a sweep): it waits until this one has ended.
  serves_id TEXT REFERENCES payouts (id),
  -- waiting: no attempt of this generation is allotted. sent: one is, and may be on its way to the chain. stuck: a person must look.
  state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'succeeded', 'failed', 'canceled', 'stuck')),
  generation INTEGER NOT NULL DEFAULT 0 CHECK (generation >= 0),
  -- How the previous generation ended; what the signer is told before it signs again.
  proof TEXT CHECK (proof IN ('failed', 'dead')),
  wait_code TEXT,
  wait_message TEXT,
  not_before_ms INTEGER NOT NULL,
  tx TEXT,
  fee_units TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  settled_at_ms INTEGER,
  fault_code TEXT,
  fault_message TEXT,
  older_lock INTEGER NOT NULL DEFAULT 0 CHECK (older_lock IN (0, 1)),
  CHECK ((fault_code IS NULL) = (fault_message IS NULL)),
  CHECK ((generation = 0) = (proof IS NULL)),
  CHECK ((wait_code IS NULL) = (wait_message IS NULL)),
  CHECK ((state IN ('succeeded', 'failed', 'canceled')) = (settled_at_ms IS NOT NULL)),
  CHECK ((state = 'succeeded') = (tx IS NOT NULL) AND (state = 'succeeded') = (fee_units IS NOT NULL))
) STRICT;
INSERT INTO payouts_copy (id, kind, network, intent, session_id, serves_id, state, generation, proof, wait_code, wait_message,
    not_before_ms, tx, fee_units, created_at_ms, updated_at_ms, settled_at_ms, fault_code, fault_message, older_lock)
  SELECT id, kind, network, intent, session_id, serves_id, state, generation, proof, wait_code, wait_message, not_before_ms,
    tx, fee_units, created_at_ms, updated_at_ms, settled_at_ms, fault_code, fault_message, older_lock
  FROM payouts;
DROP TABLE payouts;
ALTER TABLE payouts_copy RENAME TO payouts;
CREATE INDEX payouts_open ON payouts (network, state, not_before_ms) WHERE state IN ('waiting', 'sent');
CREATE INDEX payouts_by_state ON payouts (state, kind, created_at_ms);
CREATE INDEX payouts_served ON payouts (serves_id) WHERE serves_id IS NOT NULL;
CREATE INDEX payouts_of_lost_refunds ON payouts (intent ->> '$.session.id') WHERE kind IN ('refund', 'return') AND session_id IS NULL;
CREATE INDEX payouts_by_payee ON payouts (network, intent ->> '$.to') WHERE kind IN ('refund', 'return') AND state IN ('waiting', 'sent', 'stuck');
CREATE INDEX payouts_by_age ON payouts (created_at_ms, id);
