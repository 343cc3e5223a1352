-- Sessions, chain facts, addresses, webhooks. The meaning of every table stands in src/store/README.md.
-- Names end in their unit: _ms Unix milliseconds, _s Unix seconds, _minor 0.01 of a currency with two decimals, _par 18 decimals.
-- Money is decimal TEXT: no arithmetic and no ordering on it in SQL. Nothing cascades.

CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- ── Stores and keys ─────────────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE stores (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'approved')),
  settlement_currency TEXT NOT NULL CHECK (settlement_currency IN ('USDT', 'USDC')),
  tolerance_minor INTEGER NOT NULL CHECK (tolerance_minor >= 0),
  top_up_grace_s INTEGER NOT NULL CHECK (top_up_grace_s >= 0),
  monitoring_s INTEGER NOT NULL CHECK (monitoring_s >= 0),
  late_policy TEXT NOT NULL CHECK (late_policy IN ('accept', 'hold')),
  webhook_secret TEXT NOT NULL, -- sealed
  created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  key_hash TEXT NOT NULL UNIQUE, -- SHA-256, hex
  secret TEXT NOT NULL, -- sealed
  hint TEXT NOT NULL,
  scopes TEXT NOT NULL CHECK (json_valid(scopes)),
  created_at_ms INTEGER NOT NULL,
  revoked_at_ms INTEGER
) STRICT;
CREATE INDEX keys_by_store ON keys (store_id);

CREATE TABLE nonces (
  key_id TEXT NOT NULL REFERENCES keys (id),
  nonce TEXT NOT NULL,
  keep_until_ms INTEGER NOT NULL,
  PRIMARY KEY (key_id, nonce)
) STRICT, WITHOUT ROWID;
CREATE INDEX nonces_by_end ON nonces (keep_until_ms);

-- ── Chain facts ─────────────────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE networks (
  key TEXT PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('starting', 'following', 'behind', 'fault', 'halted')),
  reason_code TEXT,
  reason_message TEXT,
  tip_hash TEXT,
  tip_number INTEGER,
  tip_time_s INTEGER,
  head_number INTEGER,
  node_connected INTEGER NOT NULL DEFAULT 0 CHECK (node_connected IN (0, 1)),
  node_heard_at_ms INTEGER NOT NULL DEFAULT 0,
  floor INTEGER NOT NULL DEFAULT 0,
  read_through_s INTEGER NOT NULL DEFAULT 0,
  pruned_through INTEGER NOT NULL DEFAULT -1,
  updated_at_ms INTEGER NOT NULL,
  pid INTEGER NOT NULL DEFAULT 0,
  CHECK ((tip_hash IS NULL) = (tip_number IS NULL) AND (tip_hash IS NULL) = (tip_time_s IS NULL)),
  CHECK ((reason_code IS NULL) = (reason_message IS NULL))
) STRICT;

CREATE TABLE blocks (
  id INTEGER PRIMARY KEY,
  network TEXT NOT NULL REFERENCES networks (key),
  hash TEXT NOT NULL,
  parent TEXT NOT NULL,
  number INTEGER NOT NULL,
  time_s INTEGER NOT NULL,
  canonical INTEGER NOT NULL CHECK (canonical IN (0, 1)),
  watched_through_id INTEGER NOT NULL,
  UNIQUE (network, hash)
) STRICT;
CREATE INDEX blocks_by_number ON blocks (network, number);
CREATE UNIQUE INDEX blocks_canonical ON blocks (network, number) WHERE canonical = 1;

CREATE TABLE transfers (
  id INTEGER PRIMARY KEY,
  block_id INTEGER NOT NULL REFERENCES blocks (id),
  network TEXT NOT NULL REFERENCES networks (key),
  tx TEXT NOT NULL,
  position INTEGER NOT NULL,
  currency TEXT NOT NULL CHECK (currency IN ('USDT', 'USDC')),
  from_key TEXT NOT NULL,
  address_id INTEGER NOT NULL REFERENCES addresses (id),
  units TEXT NOT NULL CHECK (units NOT GLOB '*[^0-9]*' AND units <> ''),
  decimals INTEGER NOT NULL CHECK (decimals BETWEEN 0 AND 18),
  confirmed INTEGER NOT NULL CHECK (confirmed IN (0, 1)),
  first_confirmed_at_ms INTEGER,
  UNIQUE (block_id, tx, position),
  CHECK (confirmed = 0 OR first_confirmed_at_ms IS NOT NULL)
) STRICT;
CREATE INDEX transfers_by_address ON transfers (address_id);
CREATE INDEX transfers_unconfirmed ON transfers (network) WHERE confirmed = 0;

-- ── Addresses ───────────────────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE pools (
  id INTEGER PRIMARY KEY,
  family TEXT NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  source TEXT NOT NULL,
  current INTEGER NOT NULL CHECK (current IN (0, 1)),
  next_index INTEGER NOT NULL,
  taken INTEGER NOT NULL,
  UNIQUE (family, mode, source)
) STRICT;
CREATE UNIQUE INDEX pools_current ON pools (family, mode) WHERE current = 1;

CREATE TABLE addresses (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  pool_id INTEGER NOT NULL REFERENCES pools (id),
  family TEXT NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  key TEXT NOT NULL,
  derivation_index INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('free', 'taken', 'spoiled')),
  session_id TEXT REFERENCES sessions (id),
  UNIQUE (family, mode, key),
  CHECK ((state = 'taken') = (session_id IS NOT NULL))
) STRICT;
CREATE INDEX addresses_watched ON addresses (family, mode);
CREATE INDEX addresses_free ON addresses (pool_id) WHERE state = 'free';
CREATE INDEX addresses_by_session ON addresses (session_id) WHERE session_id IS NOT NULL;

-- ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  -- the request
  order_id TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  amount_minor TEXT NOT NULL,
  currency TEXT NOT NULL,
  description TEXT,
  line_items TEXT CHECK (line_items IS NULL OR json_valid(line_items)),
  tax_minor TEXT,
  shipping_minor TEXT,
  success_url TEXT,
  cancel_url TEXT,
  metadata TEXT CHECK (metadata IS NULL OR json_valid(metadata)),
  webhook_url TEXT,
  endpoint_id TEXT REFERENCES endpoints (id),
  -- the conversion; all null at par
  rate TEXT,
  target_currency TEXT CHECK (target_currency IN ('USDT', 'USDC')),
  target_minor TEXT,
  -- the terms
  due_par TEXT NOT NULL,
  tolerance_par TEXT NOT NULL,
  accepts TEXT NOT NULL CHECK (json_valid(accepts)),
  expires_at_s INTEGER NOT NULL,
  top_up_grace_s INTEGER NOT NULL,
  monitoring_s INTEGER NOT NULL,
  late_policy TEXT NOT NULL CHECK (late_policy IN ('accept', 'hold')),
  options TEXT NOT NULL CHECK (json_valid(options)),
  networks TEXT NOT NULL CHECK (json_valid(networks)),
  created_at_ms INTEGER NOT NULL,
  -- the life
  status TEXT NOT NULL CHECK (status IN ('pending', 'paid', 'failed', 'expired', 'canceled')),
  ended_at_s INTEGER,
  paid_at_s INTEGER,
  canceled_at_s INTEGER,
  paid_late INTEGER NOT NULL CHECK (paid_late IN (0, 1)),
  -- the standing: a cache of core/session over the transfers
  funded TEXT NOT NULL CHECK (funded IN ('none', 'part', 'full', 'over')),
  firm TEXT NOT NULL CHECK (firm IN ('none', 'seen', 'confirmed', 'final')),
  touched INTEGER NOT NULL CHECK (touched IN (0, 1)),
  late INTEGER NOT NULL CHECK (late IN (0, 1)),
  seen_par TEXT NOT NULL,
  confirmed_par TEXT NOT NULL,
  late_par TEXT NOT NULL,
  deadline_s INTEGER,
  UNIQUE (store_id, mode, order_id),
  CHECK ((status = 'pending') = (ended_at_s IS NULL)),
  CHECK (status <> 'paid' OR paid_at_s IS NOT NULL),
  CHECK (status = 'pending' OR deadline_s IS NULL),
  CHECK ((rate IS NULL) = (target_currency IS NULL) AND (rate IS NULL) = (target_minor IS NULL))
) STRICT;
CREATE INDEX sessions_by_deadline ON sessions (networks, deadline_s) WHERE deadline_s IS NOT NULL;

CREATE TABLE session_counts (
  status TEXT PRIMARY KEY CHECK (status IN ('pending', 'paid', 'failed', 'expired', 'canceled')),
  sessions INTEGER NOT NULL CHECK (sessions >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO session_counts (status, sessions)
VALUES ('pending', 0), ('paid', 0), ('failed', 0), ('expired', 0), ('canceled', 0);

CREATE TABLE replays (
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  path TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (store_id, mode, path, idempotency_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX replays_by_age ON replays (created_at_ms);

-- ── Events and their deliveries ─────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE endpoints (
  id TEXT PRIMARY KEY,
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  url TEXT NOT NULL,
  extended_events TEXT NOT NULL CHECK (json_valid(extended_events)),
  per_session INTEGER NOT NULL CHECK (per_session IN (0, 1)),
  disabled_at_ms INTEGER,
  disabled_reason TEXT,
  created_at_ms INTEGER NOT NULL,
  removed INTEGER NOT NULL CHECK (removed IN (0, 1))
) STRICT;
CREATE INDEX endpoints_of_store ON endpoints (store_id, mode) WHERE per_session = 0 AND removed = 0;
CREATE UNIQUE INDEX endpoints_per_session ON endpoints (store_id, mode, url)
  WHERE per_session = 1 AND removed = 0;

CREATE TABLE events (
  id TEXT PRIMARY KEY CHECK (id GLOB 'evt_*'),
  store_id TEXT NOT NULL REFERENCES stores (id),
  session_id TEXT NOT NULL REFERENCES sessions (id),
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX events_by_session ON events (session_id, id);
CREATE INDEX events_by_store ON events (store_id, id);

CREATE TABLE deliveries (
  id TEXT PRIMARY KEY,
  event_id TEXT NOT NULL REFERENCES events (id),
  endpoint_id TEXT NOT NULL REFERENCES endpoints (id),
  state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
  attempts INTEGER NOT NULL CHECK (attempts >= 0),
  next_attempt_at_ms INTEGER,
  manual_at_ms INTEGER,
  lease_until_ms INTEGER,
  last_status INTEGER,
  last_error TEXT,
  created_at_ms INTEGER NOT NULL,
  -- When the next automatic attempt may be leased: a lease that runs out makes it due again.
  due_at_ms INTEGER GENERATED ALWAYS AS (max(next_attempt_at_ms, coalesce(lease_until_ms, 0))) VIRTUAL,
  CHECK ((state = 'waiting') = (next_attempt_at_ms IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX deliveries_of_event ON deliveries (event_id, endpoint_id);
CREATE INDEX deliveries_due ON deliveries (endpoint_id, due_at_ms, event_id) WHERE due_at_ms IS NOT NULL;
CREATE INDEX deliveries_manual ON deliveries (manual_at_ms) WHERE manual_at_ms IS NOT NULL;
CREATE INDEX deliveries_leased ON deliveries (endpoint_id, lease_until_ms) WHERE lease_until_ms IS NOT NULL;
CREATE INDEX deliveries_by_state ON deliveries (state, event_id);

CREATE TABLE attempts (
  id INTEGER PRIMARY KEY,
  delivery_id TEXT NOT NULL REFERENCES deliveries (id),
  attempt INTEGER NOT NULL,
  trigger TEXT NOT NULL CHECK (trigger IN ('auto', 'manual')),
  started_at_ms INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  status INTEGER,
  error TEXT,
  response_excerpt TEXT
) STRICT;
CREATE INDEX attempts_by_delivery ON attempts (delivery_id);

CREATE TABLE alarms (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  network TEXT,
  session_id TEXT
) STRICT;
