-- Made of `schema.sql` by `npm run tables`, for PostgreSQL; change that, not this.
CREATE FUNCTION sum_units_add(total NUMERIC, units TEXT) RETURNS NUMERIC LANGUAGE sql IMMUTABLE
  AS 'SELECT total + coalesce(units::numeric, 0)';
CREATE FUNCTION sum_units_text(total NUMERIC) RETURNS TEXT LANGUAGE sql IMMUTABLE AS 'SELECT total::text';
CREATE AGGREGATE sum_units (TEXT) (SFUNC = sum_units_add, STYPE = NUMERIC, INITCOND = '0', FINALFUNC = sum_units_text);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql
  AS 'BEGIN RAISE EXCEPTION ''% is append-only'', TG_TABLE_NAME; END';
CREATE SEQUENCE commits;
CREATE TABLE writers (id TEXT COLLATE "C" PRIMARY KEY, command BIGINT NOT NULL, at TIMESTAMPTZ NOT NULL);
CREATE TABLE meta (
  name TEXT COLLATE "C" PRIMARY KEY,
  value TEXT COLLATE "C" NOT NULL
);
CREATE TABLE counters (
  owner TEXT COLLATE "C" PRIMARY KEY,
  last BIGINT NOT NULL
);
CREATE TABLE leases (
  name TEXT COLLATE "C" PRIMARY KEY,
  holder TEXT COLLATE "C" NOT NULL,
  fence BIGINT NOT NULL CHECK (fence > 0),
  since_ms BIGINT NOT NULL,
  until_ms BIGINT NOT NULL
);
CREATE TABLE stores (
  id TEXT COLLATE "C" PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL,
  status TEXT COLLATE "C" NOT NULL CHECK (status IN ('pending', 'approved', 'refused', 'suspended')),
  decided_at_ms BIGINT,
  decided_because TEXT COLLATE "C",
  settings TEXT COLLATE "C" NOT NULL,
  refund_policy TEXT COLLATE "C" NOT NULL,
  page TEXT COLLATE "C" NOT NULL,
  zone TEXT COLLATE "C" NOT NULL,
  next_receipt_number BIGINT NOT NULL CHECK (next_receipt_number > 0),
  created_at_ms BIGINT NOT NULL,
  mac TEXT COLLATE "C",
  live_secret TEXT COLLATE "C" NOT NULL,
  test_secret TEXT COLLATE "C" NOT NULL,
  logo BYTEA
);
CREATE TABLE keys (
  id TEXT COLLATE "C" PRIMARY KEY,
  store_id TEXT COLLATE "C" NOT NULL REFERENCES stores (id),
  mode TEXT COLLATE "C" NOT NULL CHECK (mode IN ('live', 'test')),
  key_hash TEXT COLLATE "C" NOT NULL UNIQUE,
  secret TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C",
  hint TEXT COLLATE "C" NOT NULL,
  scopes TEXT COLLATE "C" NOT NULL,
  sources TEXT COLLATE "C" NOT NULL,
  created_at_ms BIGINT NOT NULL,
  created_by TEXT COLLATE "C",
  expires_at_ms BIGINT,
  revoked_at_ms BIGINT,
  last_used_at_ms BIGINT,
  last_used_from TEXT COLLATE "C",
  mac TEXT COLLATE "C"
);
CREATE INDEX keys_by_store ON keys (store_id);
CREATE TABLE replays (
  scope TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  body_hash TEXT COLLATE "C",
  made_id TEXT COLLATE "C",
  keep_until_ms BIGINT NOT NULL,
  PRIMARY KEY (scope, key)
);
CREATE INDEX replays_by_end ON replays (keep_until_ms);
CREATE TABLE people (
  id TEXT COLLATE "C" PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL,
  memberships TEXT COLLATE "C" NOT NULL,
  language TEXT COLLATE "C",
  password TEXT COLLATE "C",
  totp_secret TEXT COLLATE "C",
  totp_step BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  locked_until_ms BIGINT NOT NULL,
  recovery_hashes TEXT COLLATE "C" NOT NULL,
  passkeys TEXT COLLATE "C" NOT NULL,
  link_hash TEXT COLLATE "C" UNIQUE,
  link_salt TEXT COLLATE "C",
  link_expires_at_ms BIGINT,
  created_at_ms BIGINT NOT NULL,
  removed_at_ms BIGINT,
  CHECK (password IS NOT NULL OR totp_secret IS NULL)
);
CREATE UNIQUE INDEX people_by_name ON people (lower(name)) WHERE removed_at_ms IS NULL;
CREATE TABLE web_sessions (
  hash TEXT COLLATE "C" PRIMARY KEY,
  person_id TEXT COLLATE "C" NOT NULL REFERENCES people (id),
  started_at_ms BIGINT NOT NULL,
  seen_at_ms BIGINT NOT NULL,
  sudo_until_ms BIGINT NOT NULL,
  form_token TEXT COLLATE "C" NOT NULL,
  previous_hash TEXT COLLATE "C",
  previous_until_ms BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX web_sessions_previous ON web_sessions (previous_hash) WHERE previous_hash IS NOT NULL;
CREATE TABLE pools (
  id BIGINT PRIMARY KEY,
  family TEXT COLLATE "C" NOT NULL,
  mode TEXT COLLATE "C" NOT NULL CHECK (mode IN ('live', 'test')),
  source TEXT COLLATE "C" NOT NULL,
  current BIGINT NOT NULL CHECK (current IN (0, 1)),
  next_index BIGINT NOT NULL,
  retired_through BIGINT NOT NULL DEFAULT 0 CHECK (retired_through >= 0),
  gap_since_ms BIGINT,
  gap_given BIGINT NOT NULL DEFAULT 0,
  UNIQUE (family, mode, source)
);
CREATE UNIQUE INDEX pools_current ON pools (family, mode) WHERE current = 1;
CREATE TABLE addresses (
  id BIGINT PRIMARY KEY,
  seq BIGINT NOT NULL,
  pool_id BIGINT NOT NULL REFERENCES pools (id),
  family TEXT COLLATE "C" NOT NULL,
  mode TEXT COLLATE "C" NOT NULL CHECK (mode IN ('live', 'test')),
  key TEXT COLLATE "C" NOT NULL,
  derivation_index BIGINT NOT NULL,
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('free', 'taken', 'spoiled')),
  session_id TEXT COLLATE "C",
  mac TEXT COLLATE "C",
  UNIQUE (family, mode, key),
  UNIQUE (family, mode, seq),
  CHECK ((state = 'taken') = (session_id IS NOT NULL))
);
CREATE INDEX addresses_free ON addresses (pool_id) WHERE state = 'free';
CREATE INDEX addresses_spoiled ON addresses (pool_id) WHERE state = 'spoiled';
CREATE INDEX addresses_by_session ON addresses (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX addresses_given ON addresses (pool_id, id) WHERE state <> 'free';
CREATE TABLE sessions (
  id TEXT COLLATE "C" PRIMARY KEY,
  store_id TEXT COLLATE "C" NOT NULL REFERENCES stores (id),
  mode TEXT COLLATE "C" NOT NULL CHECK (mode IN ('live', 'test')),
  order_id TEXT COLLATE "C" NOT NULL,
  body_hash TEXT COLLATE "C" NOT NULL,
  amount_minor TEXT COLLATE "C" NOT NULL,
  currency TEXT COLLATE "C" NOT NULL,
  created_at_ms BIGINT NOT NULL,
  networks TEXT COLLATE "C" NOT NULL,
  before_numbers TEXT COLLATE "C" NOT NULL,
  terms TEXT COLLATE "C" NOT NULL,
  order_details TEXT COLLATE "C",
  status TEXT COLLATE "C" NOT NULL CHECK (status IN ('pending', 'paid', 'failed', 'expired', 'canceled')),
  ended_at_s BIGINT,
  paid_at_s BIGINT,
  canceled_at_s BIGINT,
  paid_late BIGINT NOT NULL CHECK (paid_late IN (0, 1)),
  takes_any_token BIGINT NOT NULL CHECK (takes_any_token IN (0, 1)),
  funded TEXT COLLATE "C" NOT NULL CHECK (funded IN ('none', 'part', 'full', 'over')),
  firm TEXT COLLATE "C" NOT NULL CHECK (firm IN ('none', 'seen', 'confirmed', 'final')),
  touched BIGINT NOT NULL CHECK (touched IN (0, 1)),
  late BIGINT NOT NULL CHECK (late IN (0, 1)),
  seen_par TEXT COLLATE "C" NOT NULL,
  confirmed_par TEXT COLLATE "C" NOT NULL,
  late_par TEXT COLLATE "C" NOT NULL,
  deadline_s BIGINT,
  sums TEXT COLLATE "C" NOT NULL,
  payment_count BIGINT NOT NULL,
  CHECK ((status = 'pending') = (ended_at_s IS NULL)),
  CHECK (status <> 'paid' OR paid_at_s IS NOT NULL),
  CHECK (status = 'pending' OR deadline_s IS NULL)
);
CREATE UNIQUE INDEX sessions_open_of_order ON sessions (store_id, mode, order_id) WHERE status = 'pending';
CREATE INDEX sessions_by_order ON sessions (store_id, mode, order_id, id);
CREATE INDEX sessions_by_deadline ON sessions (networks, deadline_s, id) WHERE deadline_s IS NOT NULL;
CREATE INDEX sessions_listed ON sessions (store_id, mode, id);
CREATE INDEX sessions_by_status ON sessions (store_id, mode, status, id);
CREATE INDEX sessions_odd ON sessions (store_id, mode, id) WHERE funded IN ('over', 'part') OR late + paid_late > 0;
CREATE TABLE networks (
  key TEXT COLLATE "C" PRIMARY KEY,
  number BIGINT NOT NULL UNIQUE CHECK (number BETWEEN 1 AND 999),
  last_id BIGINT NOT NULL DEFAULT 0,
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('starting', 'following', 'behind', 'fault', 'halted')),
  reason TEXT COLLATE "C",
  tip_hash TEXT COLLATE "C",
  tip_number BIGINT,
  tip_time_s BIGINT,
  head_number BIGINT,
  node_connected BIGINT NOT NULL DEFAULT 0 CHECK (node_connected IN (0, 1)),
  node_heard_at_ms BIGINT NOT NULL DEFAULT 0,
  floor BIGINT NOT NULL DEFAULT 0,
  read_through_s BIGINT NOT NULL DEFAULT 0,
  pruned_through BIGINT NOT NULL DEFAULT -1,
  updated_at_ms BIGINT NOT NULL,
  pid BIGINT NOT NULL DEFAULT 0,
  recoveries BIGINT NOT NULL DEFAULT 0,
  rewound_at_ms BIGINT NOT NULL DEFAULT 0,
  gaps TEXT COLLATE "C" NOT NULL DEFAULT '[]'
);
CREATE TABLE blocks (
  id BIGINT PRIMARY KEY,
  network TEXT COLLATE "C" NOT NULL REFERENCES networks (key),
  hash TEXT COLLATE "C" NOT NULL,
  parent TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  time_s BIGINT NOT NULL,
  canonical BIGINT NOT NULL CHECK (canonical IN (0, 1)),
  watched_through BIGINT NOT NULL,
  UNIQUE (network, hash)
);
CREATE INDEX blocks_by_number ON blocks (network, number);
CREATE UNIQUE INDEX blocks_canonical ON blocks (network, number) WHERE canonical = 1;
CREATE TABLE transfers (
  id BIGINT PRIMARY KEY,
  block_id BIGINT NOT NULL REFERENCES blocks (id),
  network TEXT COLLATE "C" NOT NULL REFERENCES networks (key),
  tx TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,
  currency TEXT COLLATE "C" NOT NULL CHECK (currency IN ('USDT', 'USDC')),
  from_key TEXT COLLATE "C" NOT NULL,
  address_id BIGINT NOT NULL REFERENCES addresses (id),
  units TEXT COLLATE "C" NOT NULL,
  decimals BIGINT NOT NULL CHECK (decimals BETWEEN 0 AND 18),
  dust BIGINT NOT NULL CHECK (dust IN (0, 1)),
  phase TEXT COLLATE "C" CHECK (phase IN ('in_time', 'top_up', 'late', 'too_late')),
  counted TEXT COLLATE "C" NOT NULL CHECK (counted IN ('none', 'seen', 'confirmed', 'final')),
  seen_at_ms BIGINT,
  confirmed BIGINT NOT NULL CHECK (confirmed IN (0, 1)),
  first_confirmed_at_ms BIGINT,
  mac TEXT COLLATE "C",
  UNIQUE (block_id, tx, position),
  CHECK (confirmed = 0 OR first_confirmed_at_ms IS NOT NULL)
);
CREATE INDEX transfers_by_address ON transfers (address_id, dust);
CREATE INDEX transfers_unconfirmed ON transfers (network) WHERE confirmed = 0 AND dust = 0;
CREATE INDEX transfers_by_tx ON transfers (tx, address_id);
CREATE TABLE held_money (
  id TEXT COLLATE "C" PRIMARY KEY CHECK (substr(id, 1, 5) = 'held_'),
  session_id TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
  kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('late', 'short', 'surplus', 'wrong_token')),
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('open', 'settled', 'gone')),
  value_par TEXT COLLATE "C" NOT NULL,
  settled_par TEXT COLLATE "C" NOT NULL,
  currency TEXT COLLATE "C" NOT NULL,
  opened_at_ms BIGINT NOT NULL,
  settled_at_ms BIGINT,
  UNIQUE (session_id, kind)
);
CREATE INDEX held_money_by_state ON held_money (state, opened_at_ms);
CREATE INDEX held_money_open ON held_money (state, session_id) WHERE state = 'open';
CREATE TABLE ledger_entries (
  network TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  cause TEXT COLLATE "C" NOT NULL,
  occurrence BIGINT NOT NULL CHECK (occurrence >= 0),
  at_ms BIGINT NOT NULL,
  store_id TEXT COLLATE "C" REFERENCES stores (id),
  mode TEXT COLLATE "C" CHECK (mode IN ('live', 'test')),
  reason TEXT COLLATE "C",
  PRIMARY KEY (network, seq),
  UNIQUE (cause, kind, occurrence)
);
CREATE INDEX ledger_entries_of_store ON ledger_entries (store_id, mode, at_ms) WHERE store_id IS NOT NULL;
CREATE TABLE ledger_postings (
  network TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL,
  account TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  asset TEXT COLLATE "C" NOT NULL,
  units TEXT COLLATE "C" NOT NULL CHECK (units NOT IN ('', '0')),
  PRIMARY KEY (network, seq, account, subject, asset),
  FOREIGN KEY (network, seq) REFERENCES ledger_entries (network, seq)
);
CREATE TABLE endpoints (
  id TEXT COLLATE "C" PRIMARY KEY,
  store_id TEXT COLLATE "C" NOT NULL REFERENCES stores (id),
  mode TEXT COLLATE "C" NOT NULL CHECK (mode IN ('live', 'test')),
  url TEXT COLLATE "C" NOT NULL,
  extended_events TEXT COLLATE "C" NOT NULL,
  secret TEXT COLLATE "C",
  per_session BIGINT NOT NULL CHECK (per_session IN (0, 1)),
  created_at_ms BIGINT NOT NULL,
  disabled_at_ms BIGINT,
  disabled_reason TEXT COLLATE "C",
  removed BIGINT NOT NULL CHECK (removed IN (0, 1)),
  failing_since_ms BIGINT,
  failures BIGINT NOT NULL,
  gones BIGINT NOT NULL,
  silences BIGINT NOT NULL,
  paused_until_ms BIGINT NOT NULL,
  due_at_ms BIGINT,
  dialect TEXT COLLATE "C" CHECK (dialect IN ('epay', 'epusdt', 'gmpay', 'bepusdt')),
  pid BIGINT UNIQUE,
  door TEXT COLLATE "C",
  CHECK ((dialect IS NULL) = (pid IS NULL)),
  CHECK ((dialect IS NULL) = (door IS NULL))
);
CREATE INDEX endpoints_of_store ON endpoints (store_id, mode, per_session) WHERE removed = 0;
CREATE UNIQUE INDEX endpoints_per_session ON endpoints (store_id, mode, url) WHERE per_session = 1 AND removed = 0;
CREATE INDEX endpoints_due ON endpoints ((CASE WHEN silences >= 5 THEN 1 ELSE 0 END), due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE INDEX endpoints_in_trouble ON endpoints (failing_since_ms) WHERE failing_since_ms IS NOT NULL OR disabled_at_ms IS NOT NULL;
CREATE TABLE door_orders (
  id TEXT COLLATE "C" PRIMARY KEY,
  endpoint_id TEXT COLLATE "C" NOT NULL REFERENCES endpoints (id),
  order_no TEXT COLLATE "C" NOT NULL,
  trade_no TEXT COLLATE "C" NOT NULL UNIQUE,
  session_id TEXT COLLATE "C",
  paid_session_id TEXT COLLATE "C" UNIQUE REFERENCES sessions (id),
  terms TEXT COLLATE "C" NOT NULL,
  created_at_ms BIGINT NOT NULL,
  UNIQUE (endpoint_id, order_no)
);
CREATE INDEX door_orders_by_time ON door_orders (endpoint_id, created_at_ms, id);
CREATE TABLE events (
  id TEXT COLLATE "C" PRIMARY KEY CHECK (substr(id, 1, 4) = 'evt_'),
  store_id TEXT COLLATE "C" NOT NULL REFERENCES stores (id),
  mode TEXT COLLATE "C" NOT NULL CHECK (mode IN ('live', 'test')),
  session_id TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
  type TEXT COLLATE "C" NOT NULL,
  body TEXT COLLATE "C" NOT NULL,
  created_at_ms BIGINT NOT NULL
);
CREATE INDEX events_by_session ON events (session_id, id);
CREATE INDEX events_by_mode ON events (store_id, mode, id);
CREATE INDEX events_by_type ON events (store_id, mode, type, id);
CREATE TABLE deliveries (
  id TEXT COLLATE "C" PRIMARY KEY,
  event_id TEXT COLLATE "C" NOT NULL REFERENCES events (id),
  endpoint_id TEXT COLLATE "C" NOT NULL REFERENCES endpoints (id),
  session_id TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
  attempts BIGINT NOT NULL CHECK (attempts >= 0),
  due_at_ms BIGINT,
  lease_until_ms BIGINT,
  lease_holder TEXT COLLATE "C",
  last_status BIGINT,
  last_error TEXT COLLATE "C",
  created_at_ms BIGINT NOT NULL,
  CHECK ((state = 'waiting') = (due_at_ms IS NOT NULL)),
  CHECK (lease_until_ms IS NULL OR state = 'waiting')
);
CREATE UNIQUE INDEX deliveries_of_event ON deliveries (event_id, endpoint_id);
CREATE INDEX deliveries_by_state ON deliveries (state, event_id);
CREATE INDEX deliveries_due ON deliveries (endpoint_id, due_at_ms, event_id) WHERE due_at_ms IS NOT NULL;
CREATE INDEX deliveries_leased ON deliveries (lease_until_ms) WHERE lease_until_ms IS NOT NULL;
CREATE INDEX deliveries_failed ON deliveries (endpoint_id, event_id) WHERE state = 'failed';
CREATE INDEX deliveries_refused ON deliveries (endpoint_id, event_id)
  WHERE state = 'failed' AND last_status IN (401, 403, 404, 405, 409, 410) AND attempts < 11;
CREATE TABLE attempts (
  id BIGINT PRIMARY KEY,
  delivery_id TEXT COLLATE "C" NOT NULL REFERENCES deliveries (id),
  attempt BIGINT NOT NULL,
  started_at_ms BIGINT NOT NULL,
  duration_ms BIGINT NOT NULL,
  status BIGINT,
  error TEXT COLLATE "C",
  response_excerpt TEXT COLLATE "C"
);
CREATE INDEX attempts_by_delivery ON attempts (delivery_id);
CREATE TABLE refund_addresses (
  session_id TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
  network TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  mac TEXT COLLATE "C",
  PRIMARY KEY (session_id, network)
);
CREATE TABLE refunds (
  id TEXT COLLATE "C" PRIMARY KEY,
  store_id TEXT COLLATE "C" NOT NULL REFERENCES stores (id),
  mode TEXT COLLATE "C" NOT NULL CHECK (mode IN ('live', 'test')),
  refund_id TEXT COLLATE "C" NOT NULL,
  session_id TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
  held_kind TEXT COLLATE "C" CHECK (held_kind IN ('late', 'short', 'surplus', 'wrong_token')),
  body_hash TEXT COLLATE "C" NOT NULL,
  amount_minor TEXT COLLATE "C" NOT NULL CHECK (amount_minor NOT IN ('', '0')),
  currency TEXT COLLATE "C" NOT NULL CHECK (currency IN ('USDT', 'USDC')),
  reason TEXT COLLATE "C",
  description TEXT COLLATE "C",
  metadata TEXT COLLATE "C",
  requested_by TEXT COLLATE "C" REFERENCES people (id),
  requested_key TEXT COLLATE "C",
  network TEXT COLLATE "C" NOT NULL,
  units TEXT COLLATE "C" NOT NULL CHECK (units NOT IN ('', '0')),
  destination TEXT COLLATE "C",
  destination_from TEXT COLLATE "C" CHECK (destination_from IN ('payer', 'claim_link', 'merchant', 'operator', 'sender')),
  mac TEXT COLLATE "C",
  link_seen BIGINT NOT NULL CHECK (link_seen IN (0, 1)),
  claim_hash TEXT COLLATE "C" UNIQUE,
  claim_until_s BIGINT,
  claim_seen_at_ms BIGINT,
  status TEXT COLLATE "C" NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed', 'canceled')),
  needs_approval BIGINT NOT NULL CHECK (needs_approval IN (0, 1)),
  approved_at_ms BIGINT,
  approved_destination TEXT COLLATE "C",
  approvals TEXT COLLATE "C" NOT NULL,
  failure_reason TEXT COLLATE "C",
  tx TEXT COLLATE "C",
  receipt_number TEXT COLLATE "C",
  created_at_ms BIGINT NOT NULL,
  processing_at_ms BIGINT,
  processed_at_ms BIGINT,
  canceled_at_ms BIGINT,
  UNIQUE (store_id, mode, refund_id),
  UNIQUE (store_id, receipt_number),
  CHECK ((destination IS NULL) = (mac IS NULL) AND (destination IS NULL) = (destination_from IS NULL)),
  CHECK (status NOT IN ('processing', 'completed') OR destination IS NOT NULL),
  CHECK ((status = 'completed') = (receipt_number IS NOT NULL)),
  CHECK ((status = 'failed') = (failure_reason IS NOT NULL))
);
CREATE INDEX refunds_by_session ON refunds (session_id);
CREATE INDEX refunds_ready ON refunds (created_at_ms)
  WHERE status = 'pending' AND destination IS NOT NULL AND (needs_approval = 0 OR approved_destination = destination);
CREATE INDEX refunds_unclaimed ON refunds (claim_until_s) WHERE status = 'pending' AND destination IS NULL;
CREATE INDEX refunds_to_approve ON refunds (store_id, created_at_ms)
  WHERE needs_approval = 1 AND approved_at_ms IS NULL AND status IN ('pending', 'processing');
CREATE INDEX refunds_by_refund_id ON refunds (refund_id);
CREATE INDEX refunds_listed ON refunds (store_id, mode, created_at_ms, id);
CREATE INDEX refunds_listed_by_status ON refunds (store_id, mode, status, created_at_ms, id);
CREATE INDEX refunds_by_transaction ON refunds (store_id, mode, tx) WHERE tx IS NOT NULL;
CREATE TABLE lookups (
  session_id TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
  network TEXT COLLATE "C" NOT NULL,
  tx TEXT COLLATE "C" NOT NULL,
  family TEXT COLLATE "C" NOT NULL,
  finding TEXT COLLATE "C",
  first_asked_at_ms BIGINT NOT NULL,
  position BIGINT NOT NULL,
  asked_at_ms BIGINT NOT NULL,
  due_at_ms BIGINT,
  PRIMARY KEY (session_id, network, tx)
);
CREATE INDEX lookups_due ON lookups (network, due_at_ms, session_id, tx) WHERE due_at_ms IS NOT NULL;
CREATE INDEX lookups_by_age ON lookups (network, asked_at_ms, session_id, tx);
CREATE TABLE payouts (
  id TEXT COLLATE "C" PRIMARY KEY,
  kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('refund', 'return', 'sweep', 'gas')),
  network TEXT COLLATE "C" NOT NULL,
  intent TEXT COLLATE "C" NOT NULL,
  session_id TEXT COLLATE "C" REFERENCES sessions (id),
  named_session TEXT COLLATE "C",
  serves_id TEXT COLLATE "C" REFERENCES payouts (id) DEFERRABLE,
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'sent', 'succeeded', 'failed', 'canceled', 'stuck')),
  generation BIGINT NOT NULL CHECK (generation >= 0),
  proof TEXT COLLATE "C" CHECK (proof IN ('failed', 'dead')),
  wait_code TEXT COLLATE "C",
  wait_message TEXT COLLATE "C",
  fault_code TEXT COLLATE "C",
  fault_message TEXT COLLATE "C",
  not_before_ms BIGINT NOT NULL,
  tx TEXT COLLATE "C",
  fee_units TEXT COLLATE "C",
  created_at_ms BIGINT NOT NULL,
  updated_at_ms BIGINT NOT NULL,
  settled_at_ms BIGINT,
  CHECK ((generation = 0) = (proof IS NULL)),
  CHECK ((wait_code IS NULL) = (wait_message IS NULL) AND (fault_code IS NULL) = (fault_message IS NULL)),
  CHECK ((state IN ('succeeded', 'failed', 'canceled')) = (settled_at_ms IS NOT NULL)),
  CHECK ((state = 'succeeded') = (tx IS NOT NULL) AND (state = 'succeeded') = (fee_units IS NOT NULL))
);
CREATE INDEX payouts_open ON payouts (network, state, not_before_ms) WHERE state IN ('waiting', 'sent');
CREATE INDEX payouts_by_state ON payouts (state, kind, created_at_ms);
CREATE INDEX payouts_by_age ON payouts (created_at_ms, id);
CREATE INDEX payouts_served ON payouts (serves_id) WHERE serves_id IS NOT NULL;
CREATE INDEX payouts_of_lost_refunds ON payouts (named_session) WHERE named_session IS NOT NULL AND session_id IS NULL;
CREATE TABLE payout_attempts (
  payout_id TEXT COLLATE "C" NOT NULL REFERENCES payouts (id),
  generation BIGINT NOT NULL CHECK (generation >= 0),
  attempt BIGINT NOT NULL CHECK (attempt >= -1),
  network TEXT COLLATE "C" NOT NULL,
  payer TEXT COLLATE "C" NOT NULL,
  payer_role TEXT COLLATE "C" NOT NULL CHECK (payer_role IN ('refund', 'gas', 'collection')),
  nonce BIGINT CHECK (nonce >= 0),
  terms TEXT COLLATE "C" NOT NULL,
  fee_units_max TEXT COLLATE "C" NOT NULL,
  tx TEXT COLLATE "C" UNIQUE,
  bytes BYTEA,
  allotted_at_ms BIGINT NOT NULL,
  signed_at_ms BIGINT,
  sent_at_ms BIGINT,
  answer_code TEXT COLLATE "C",
  answer TEXT COLLATE "C",
  fee_units TEXT COLLATE "C",
  PRIMARY KEY (payout_id, generation, attempt),
  CHECK ((answer_code IS NULL) = (answer IS NULL)),
  CHECK ((tx IS NULL) = (bytes IS NULL) AND (tx IS NULL) = (signed_at_ms IS NULL)),
  CHECK (tx IS NOT NULL OR (sent_at_ms IS NULL AND fee_units IS NULL))
);
CREATE UNIQUE INDEX attempts_by_nonce ON payout_attempts (network, payer, nonce) WHERE nonce IS NOT NULL AND attempt = 0;
CREATE UNIQUE INDEX attempts_unsigned ON payout_attempts (network, payer) WHERE nonce IS NOT NULL AND tx IS NULL;
CREATE TABLE lanes (
  network TEXT COLLATE "C" NOT NULL,
  payer TEXT COLLATE "C" NOT NULL,
  next_nonce BIGINT NOT NULL CHECK (next_nonce >= 0),
  counted_nonce BIGINT,
  PRIMARY KEY (network, payer),
  CHECK (counted_nonce > next_nonce)
);
CREATE TABLE payout_engines (
  network TEXT COLLATE "C" PRIMARY KEY,
  fence BIGINT NOT NULL CHECK (fence >= 0),
  journal_id BIGINT NOT NULL CHECK (journal_id >= 0),
  reason TEXT COLLATE "C",
  signer_freeze TEXT COLLATE "C",
  beat_at_ms BIGINT,
  settling_until_ms BIGINT
);
CREATE TABLE payout_freezes (
  network TEXT COLLATE "C" NOT NULL,
  code TEXT COLLATE "C" NOT NULL,
  reason TEXT COLLATE "C" NOT NULL,
  frozen_by TEXT COLLATE "C" NOT NULL,
  since_ms BIGINT NOT NULL,
  PRIMARY KEY (network, code)
);
CREATE TABLE own_wallets (
  network TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL,
  role TEXT COLLATE "C" NOT NULL CHECK (role IN ('refund', 'gas', 'treasury')),
  key TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (network, seq),
  UNIQUE (network, key, role)
);
CREATE TABLE outgoing_transfers (
  id BIGINT PRIMARY KEY,
  network TEXT COLLATE "C" NOT NULL,
  block_hash TEXT COLLATE "C" NOT NULL,
  block_number BIGINT NOT NULL,
  tx TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,
  role TEXT COLLATE "C" NOT NULL CHECK (role IN ('refund', 'gas')),
  from_key TEXT COLLATE "C" NOT NULL,
  to_key TEXT COLLATE "C" NOT NULL,
  currency TEXT COLLATE "C" NOT NULL CHECK (currency IN ('USDT', 'USDC')),
  units TEXT COLLATE "C" NOT NULL CHECK (units NOT IN ('', '0')),
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('open', 'foreign', 'known')),
  seen_at_ms BIGINT NOT NULL,
  UNIQUE (network, block_hash, tx, position, from_key)
);
CREATE INDEX outgoing_by_state ON outgoing_transfers (network, state, block_number);
CREATE INDEX outgoing_by_payee ON outgoing_transfers (network, to_key);
CREATE TABLE other_transfers (
  payout_id TEXT COLLATE "C" NOT NULL REFERENCES payouts (id),
  transfer_id BIGINT NOT NULL REFERENCES outgoing_transfers (id),
  PRIMARY KEY (payout_id, transfer_id)
);
CREATE TABLE wallet_books (
  network TEXT COLLATE "C" PRIMARY KEY,
  units TEXT COLLATE "C" NOT NULL,
  short_since_ms BIGINT,
  missing_units TEXT COLLATE "C" NOT NULL,
  ledger_seq BIGINT NOT NULL CHECK (ledger_seq >= 0)
);
CREATE TABLE sweep_parts (
  payout_id TEXT COLLATE "C" NOT NULL REFERENCES payouts (id),
  network TEXT COLLATE "C" NOT NULL,
  derivation_index BIGINT NOT NULL CHECK (derivation_index >= 0),
  currency TEXT COLLATE "C" NOT NULL CHECK (currency IN ('USDT', 'USDC')),
  pool_id BIGINT REFERENCES pools (id),
  units TEXT COLLATE "C" NOT NULL CHECK (units NOT IN ('', '0')),
  PRIMARY KEY (payout_id, derivation_index)
);
CREATE INDEX sweep_parts_by_owner ON sweep_parts (network, derivation_index);
CREATE TABLE alarms (
  id BIGINT PRIMARY KEY,
  at_ms BIGINT NOT NULL,
  code TEXT COLLATE "C" NOT NULL,
  message TEXT COLLATE "C" NOT NULL,
  network TEXT COLLATE "C",
  session_id TEXT COLLATE "C",
  key TEXT COLLATE "C",
  ended_at_ms BIGINT,
  acknowledged_at_ms BIGINT,
  acknowledged_by TEXT COLLATE "C",
  acknowledged_note TEXT COLLATE "C"
);
CREATE UNIQUE INDEX alarms_open ON alarms (key) WHERE key IS NOT NULL AND ended_at_ms IS NULL;
CREATE TABLE notice_targets (
  id TEXT COLLATE "C" PRIMARY KEY,
  kind TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  address TEXT COLLATE "C" NOT NULL,
  severity TEXT COLLATE "C" NOT NULL,
  code TEXT COLLATE "C" NOT NULL,
  created_at_ms BIGINT NOT NULL,
  proved_at_ms BIGINT,
  progress TEXT COLLATE "C" NOT NULL
);
CREATE TABLE audit_log (
  id BIGINT PRIMARY KEY,
  at_ms BIGINT NOT NULL,
  operator TEXT COLLATE "C" NOT NULL,
  command TEXT COLLATE "C" NOT NULL,
  target TEXT COLLATE "C" NOT NULL,
  before TEXT COLLATE "C",
  after TEXT COLLATE "C",
  reason TEXT COLLATE "C"
);
CREATE INDEX audit_log_by_time ON audit_log (at_ms, id);
CREATE TRIGGER audit_log_is_not_deleted BEFORE DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_log_is_not_changed BEFORE UPDATE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
