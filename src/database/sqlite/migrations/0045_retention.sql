-- Sessions that were never paid leave `sessions` after some time, and come back when somebody needs them.
--
-- `content` is the session with its events and deliveries, compressed. Their addresses stay what they are: taken by
-- that session, and watched. Sessions of one installation are alike, so one of them, without what it says about its
-- payer, is the dictionary for others.
CREATE TABLE archive_dictionaries (
  id INTEGER PRIMARY KEY,
  text BLOB NOT NULL
) STRICT;
CREATE TABLE archived_sessions (
  id TEXT PRIMARY KEY,
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  order_id TEXT NOT NULL,
  ended_at_s INTEGER NOT NULL,
  archived_at_ms INTEGER NOT NULL,
  -- whether what the merchant sent about the payer is still in it
  has_payer_data INTEGER NOT NULL CHECK (has_payer_data IN (0, 1)),
  dictionary_id INTEGER NOT NULL REFERENCES archive_dictionaries (id),
  content BLOB NOT NULL,
  UNIQUE (store_id, mode, order_id)
) STRICT;
CREATE INDEX archived_sessions_with_payer_data ON archived_sessions (ended_at_s) WHERE has_payer_data = 1;

CREATE INDEX sessions_unpaid ON sessions (ended_at_s, id)
  WHERE payment_count = 0 AND status IN ('expired', 'canceled', 'failed');
CREATE INDEX sessions_by_endpoint ON sessions (endpoint_id) WHERE endpoint_id IS NOT NULL;
CREATE INDEX endpoints_retired ON endpoints (retired_at_ms)
  WHERE per_session = 1 AND removed = 0 AND retired_at_ms IS NOT NULL;

-- The same without the reference to `sessions`: an archived session has its addresses too.
CREATE TABLE addresses_new (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  pool_id INTEGER NOT NULL REFERENCES pools (id),
  family TEXT NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  key TEXT NOT NULL,
  derivation_index INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('free', 'taken', 'spoiled')),
  session_id TEXT,
  mac TEXT,
  UNIQUE (family, mode, key),
  CHECK ((state = 'taken') = (session_id IS NOT NULL))
) STRICT;
INSERT INTO addresses_new (id, pool_id, family, mode, key, derivation_index, state, session_id, mac)
  SELECT id, pool_id, family, mode, key, derivation_index, state, session_id, mac FROM addresses;
-- Ids are never given again, those of rows that are gone included.
UPDATE sqlite_sequence SET seq = max(seq, (SELECT seq FROM sqlite_sequence WHERE name = 'addresses'))
  WHERE name = 'addresses_new';
DROP TABLE addresses;
ALTER TABLE addresses_new RENAME TO addresses;
CREATE INDEX addresses_watched ON addresses (family, mode);
CREATE INDEX addresses_free ON addresses (pool_id) WHERE state = 'free';
CREATE INDEX addresses_by_session ON addresses (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX addresses_given ON addresses (pool_id, id) WHERE state <> 'free';

-- Idempotency keys of a day. They may name an archived session as well.
CREATE TABLE replays_new (
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  path TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  session_id TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (store_id, mode, path, idempotency_key)
) STRICT, WITHOUT ROWID;
INSERT INTO replays_new SELECT store_id, mode, path, idempotency_key, body_hash, session_id, created_at_ms FROM replays;
DROP TABLE replays;
ALTER TABLE replays_new RENAME TO replays;
CREATE INDEX replays_by_age ON replays (created_at_ms);
