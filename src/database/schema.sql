-- The tables of the database, in the order in which a payment passes through them. This file is their only description. New
-- databases are made from it, and `npm run tables` writes the query builder's `tables.ts` from it. After 0.1.0, a change is
-- made here and in a numbered migration beside this file. A test proves that the two agree.
--
-- Names end in their unit: `_ms` and `_s` are Unix milliseconds and seconds (or durations), `_minor` the smallest unit of a
-- currency (0.01), `_par` value with 18 decimals, `_units` base units of a token or coin. Money is decimal TEXT, which is added
-- and compared in code, never in SQL. Flags are 0 and 1. Every table is STRICT, and nothing cascades. `mac` is an HMAC over the
-- columns that decide. A row whose MAC fails is not used, and raises an alarm. `network` is a network's key, with its mode
-- before the colon. `…_by` is a person's id, or the user of an operator. `--> T` at the end of a line is the column's
-- TypeScript type, where SQL does not say it (see scripts/tables.ts).

-- Single values, by their names in src/database/meta.ts.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The newest number of an owner's series, such as a store's events. A series is read in order and without gaps.
CREATE TABLE counters (
  owner TEXT PRIMARY KEY,
  last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A job that one process does at a time, on any machine, and its holder, who renews the lease by the database's clock.
CREATE TABLE leases (
  name TEXT PRIMARY KEY, -- `chores`, `comparison`, or `indexer` and a network's key
  holder TEXT NOT NULL, -- the last one: its program, machine and data folder
  fence INTEGER NOT NULL CHECK (fence > 0), -- one more at each taking, and compared by each write of the holder
  since_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL -- the time at which another process may take it; 0: it is free
) STRICT, WITHOUT ROWID;

-- ── Stores, their keys and people ───────────────────────────────────────────────────────────────────────────────────────

-- A merchant's shop. The keys of a suspended store can create neither sessions nor refunds.
CREATE TABLE stores (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'suspended')),
  decided_at_ms INTEGER, -- when it was suspended
  decided_because TEXT,
  settings TEXT NOT NULL CHECK (json_valid(settings)), --> StoreSettings
  refund_policy TEXT NOT NULL CHECK (json_valid(refund_policy)), --> RefundPolicy
  page TEXT NOT NULL CHECK (json_valid(page)), --> PageSettings
  zone TEXT NOT NULL, -- the time zone of its days
  next_receipt_number INTEGER NOT NULL CHECK (next_receipt_number > 0), -- gapless
  created_at_ms INTEGER NOT NULL,
  mac TEXT,
  live_secret TEXT NOT NULL, -- sealed, with its rotation, for endpoints without a secret of their own
  test_secret TEXT NOT NULL,
  logo BLOB -- a PNG; the last column, because most reads leave it out
) STRICT;

-- An API key. The key itself is not kept.
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  key_hash TEXT NOT NULL UNIQUE, -- SHA-256, hex
  secret TEXT NOT NULL, -- sealed with the installation's secret key
  name TEXT,
  hint TEXT NOT NULL, -- the key's last characters
  scopes TEXT NOT NULL CHECK (json_valid(scopes)), --> readonly Scope[]
  created_at_ms INTEGER NOT NULL,
  created_by TEXT,
  revoked_at_ms INTEGER,
  last_used_at_ms INTEGER,
  last_used_from TEXT,
  mac TEXT
) STRICT;
CREATE INDEX keys_by_store ON keys (store_id);

-- A key that a successful request used up: the nonce of its signature, or an Idempotency-Key with the id that it made.
CREATE TABLE replays (
  scope TEXT NOT NULL, -- of a nonce: the API key; of an Idempotency-Key: store, mode and path
  key TEXT NOT NULL,
  body_hash TEXT,
  made_id TEXT,
  keep_until_ms INTEGER NOT NULL,
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX replays_by_end ON replays (keep_until_ms);

-- A user of the dashboard. Nothing here opens the API, and no API key opens the dashboard.
CREATE TABLE people (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL, -- unique in any case
  memberships TEXT NOT NULL CHECK (json_valid(memberships)), --> readonly Membership[]
  password TEXT, -- scrypt, as a PHC string; null until the one-time link is used
  totp_secret TEXT, -- sealed; null until an authenticator app is set up
  totp_step INTEGER NOT NULL, -- the newest step whose code was used, up to which codes are refused
  failures INTEGER NOT NULL, -- attempts to sign in since the last success
  locked_until_ms INTEGER NOT NULL,
  recovery_hashes TEXT NOT NULL CHECK (json_valid(recovery_hashes)), --> readonly string[]
  passkeys TEXT NOT NULL CHECK (json_valid(passkeys)), --> readonly Passkey[]
  link_hash TEXT UNIQUE, -- SHA-256 of the one-time link that sets password and second factor
  link_salt TEXT, -- random, makes the second factor; null for a link that only signs in
  link_expires_at_ms INTEGER,
  created_at_ms INTEGER NOT NULL,
  removed_at_ms INTEGER,
  CHECK (password IS NOT NULL OR totp_secret IS NULL)
) STRICT;
CREATE UNIQUE INDEX people_by_name ON people (lower(name)) WHERE removed_at_ms IS NULL;

-- A session of a signed-in person in a browser.
CREATE TABLE web_sessions (
  hash TEXT PRIMARY KEY, -- of the token in the cookie
  person_id TEXT NOT NULL REFERENCES people (id),
  started_at_ms INTEGER NOT NULL,
  seen_at_ms INTEGER NOT NULL,
  sudo_until_ms INTEGER NOT NULL, -- until then it may give out money and rights, after the second factor was proved again
  form_token TEXT NOT NULL,
  previous_hash TEXT, -- of the earlier token, for requests that were on their way when it changed
  previous_until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX web_sessions_previous ON web_sessions (previous_hash) WHERE previous_hash IS NOT NULL;

-- ── Addresses and sessions ──────────────────────────────────────────────────────────────────────────────────────────────

-- A source of addresses: an xpub, or an imported list. Each family and mode has one current pool.
CREATE TABLE pools (
  id INTEGER PRIMARY KEY, -- from a counter
  family TEXT NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  source TEXT NOT NULL,
  current INTEGER NOT NULL CHECK (current IN (0, 1)),
  next_index INTEGER NOT NULL,
  retired_through INTEGER NOT NULL CHECK (retired_through >= 0), -- a lost database may have given out lower indexes
  gap_since_ms INTEGER, -- start of the last gap in which this database was not used
  gap_given INTEGER NOT NULL, -- number of addresses that were retired for it
  UNIQUE (family, mode, source)
) STRICT;
CREATE UNIQUE INDEX pools_current ON pools (family, mode) WHERE current = 1;

-- A deposit address.
CREATE TABLE addresses (
  id INTEGER PRIMARY KEY, -- follows from the pool and the index in it
  seq INTEGER NOT NULL, -- rises in the order of commits, so that a follower that knows the newest knows all
  pool_id INTEGER NOT NULL REFERENCES pools (id),
  family TEXT NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  key TEXT NOT NULL,
  derivation_index INTEGER NOT NULL,
  -- taken: by one session, for good. spoiled: watched and never given out, because money came before any session.
  state TEXT NOT NULL CHECK (state IN ('free', 'taken', 'spoiled')),
  session_id TEXT,
  mac TEXT,
  UNIQUE (family, mode, key),
  UNIQUE (family, mode, seq),
  CHECK ((state = 'taken') = (session_id IS NOT NULL))
) STRICT;
CREATE INDEX addresses_free ON addresses (pool_id) WHERE state = 'free';
CREATE INDEX addresses_spoiled ON addresses (pool_id) WHERE state = 'spoiled';
CREATE INDEX addresses_by_session ON addresses (session_id) WHERE session_id IS NOT NULL;

-- A checkout session. Its terms never change, and `paid` is final.
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, -- rises with time
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  order_id TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  amount_minor TEXT NOT NULL,
  currency TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  networks TEXT NOT NULL CHECK (json_valid(networks)), --> readonly NetworkKey[]
  -- The newest block before the session, by network. It falls when an operator rewinds.
  before_numbers TEXT NOT NULL CHECK (json_valid(before_numbers)), --> Terms['beforeNumbers']
  terms TEXT NOT NULL CHECK (json_valid(terms)), --> sessionTerms
  -- The merchant's data about the payer, which is removed by age.
  order_details TEXT CHECK (json_valid(order_details)), --> OrderDetails
  status TEXT NOT NULL CHECK (status IN ('pending', 'paid', 'failed', 'expired', 'canceled')),
  ended_at_s INTEGER,
  paid_at_s INTEGER,
  canceled_at_s INTEGER,
  paid_late INTEGER NOT NULL CHECK (paid_late IN (0, 1)),
  takes_any_token INTEGER NOT NULL CHECK (takes_any_token IN (0, 1)), -- at par, even if `accepts` lacks them
  -- The standing follows from `sums`, which equal the fold of the session's transfers in src/core/session.ts.
  funded TEXT NOT NULL CHECK (funded IN ('none', 'part', 'full', 'over')),
  firm TEXT NOT NULL CHECK (firm IN ('none', 'seen', 'confirmed', 'final')),
  touched INTEGER NOT NULL CHECK (touched IN (0, 1)),
  late INTEGER NOT NULL CHECK (late IN (0, 1)),
  seen_par TEXT NOT NULL,
  confirmed_par TEXT NOT NULL,
  late_par TEXT NOT NULL,
  deadline_s INTEGER, -- the time at which the clock alone ends the session
  sums TEXT NOT NULL CHECK (json_valid(sums)), --> receiptSums
  payment_count INTEGER NOT NULL, -- its transfers except dust, including orphaned ones
  CHECK ((status = 'pending') = (ended_at_s IS NULL)),
  CHECK (status <> 'paid' OR paid_at_s IS NOT NULL),
  CHECK (status = 'pending' OR deadline_s IS NULL)
) STRICT;
-- An order whose session ended unpaid can be tried again, by one session at a time.
CREATE UNIQUE INDEX sessions_open_of_order ON sessions (store_id, mode, order_id) WHERE status = 'pending';
CREATE INDEX sessions_by_order ON sessions (store_id, mode, order_id, id);
CREATE INDEX sessions_by_deadline ON sessions (networks, deadline_s, id) WHERE deadline_s IS NOT NULL;
CREATE INDEX sessions_by_status ON sessions (store_id, mode, status, id);

-- ── Networks, blocks, payments and the ledger ───────────────────────────────────────────────────────────────────────────

-- The position of a network's follower, and its state.
CREATE TABLE networks (
  key TEXT PRIMARY KEY, --> NetworkKey
  number INTEGER NOT NULL UNIQUE CHECK (number BETWEEN 1 AND 999),
  last_id INTEGER NOT NULL, -- the newest id of its blocks and transfers, which rises and ends in the network's number
  state TEXT NOT NULL CHECK (state IN ('starting', 'following', 'behind', 'fault', 'halted')),
  reason TEXT CHECK (json_valid(reason)), --> Reason
  tip_hash TEXT, -- of the newest canonical block
  tip_number INTEGER,
  head_number INTEGER, -- of the node
  node_connected INTEGER NOT NULL CHECK (node_connected IN (0, 1)),
  node_heard_at_ms INTEGER NOT NULL,
  floor INTEGER NOT NULL, -- the height up to which blocks are final, which only a rewind lowers
  read_through_s INTEGER NOT NULL, -- the chain's time up to which sessions can be judged
  pruned_through INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  recoveries INTEGER NOT NULL, -- rises when an operator moves the position
  rewound_at_ms INTEGER NOT NULL, -- the last rewind; 0: never
  -- Blocks that the follower skipped. The block after them need not be the child of the one before.
  gaps TEXT NOT NULL CHECK (json_valid(gaps)) --> readonly BlockGap[]
) STRICT;

-- A block that was read, by hash. Only `canonical` changes, and a number that a node reported wrongly. A network has one
-- canonical block per height, linked by parent except after a gap. Blocks without transfers are deleted 1,000 below the floor.
CREATE TABLE blocks (
  id INTEGER PRIMARY KEY, -- from the network
  network TEXT NOT NULL REFERENCES networks (key),
  hash TEXT NOT NULL,
  parent TEXT NOT NULL,
  number INTEGER NOT NULL,
  time_s INTEGER NOT NULL,
  canonical INTEGER NOT NULL CHECK (canonical IN (0, 1)),
  watched_through INTEGER NOT NULL, -- the `seq` of the newest address that was looked for
  UNIQUE (network, hash)
) STRICT;
CREATE INDEX blocks_orphaned ON blocks (network, number) WHERE canonical = 0;
CREATE UNIQUE INDEX blocks_canonical ON blocks (network, number) WHERE canonical = 1;

-- A token transfer to a deposit address. Never deleted.
CREATE TABLE transfers (
  id INTEGER PRIMARY KEY, -- from the network
  block_id INTEGER NOT NULL REFERENCES blocks (id),
  network TEXT NOT NULL REFERENCES networks (key),
  tx TEXT NOT NULL,
  position INTEGER NOT NULL,
  currency TEXT NOT NULL CHECK (currency IN ('USDT', 'USDC')),
  from_key TEXT NOT NULL,
  address_id INTEGER NOT NULL REFERENCES addresses (id),
  units TEXT NOT NULL,
  decimals INTEGER NOT NULL CHECK (decimals BETWEEN 0 AND 18),
  dust INTEGER NOT NULL CHECK (dust IN (0, 1)), -- below the token's dust floor, touches no session and is not booked
  phase TEXT CHECK (phase IN ('in_time', 'top_up', 'late', 'too_late')), -- at its transaction's first block; null: in no session
  counted TEXT NOT NULL CHECK (counted IN ('none', 'seen', 'confirmed', 'final')), -- the sum of its session that contains it
  confirmed INTEGER NOT NULL CHECK (confirmed IN (0, 1)), -- only while its block is canonical
  first_confirmed_at_ms INTEGER, -- never removed
  mac TEXT,
  UNIQUE (tx, block_id, position),
  CHECK (confirmed = 0 OR first_confirmed_at_ms IS NOT NULL)
) STRICT;
CREATE INDEX transfers_by_address ON transfers (address_id, dust);
CREATE INDEX transfers_unconfirmed ON transfers (network) WHERE confirmed = 0 AND dust = 0;
CREATE INDEX transfers_by_block ON transfers (block_id);

-- Confirmed money that counts for nothing until an operator decides about it. A session has at most one row of each kind.
CREATE TABLE held_money (
  id TEXT PRIMARY KEY CHECK (substr(id, 1, 5) = 'held_'),
  session_id TEXT NOT NULL REFERENCES sessions (id),
  kind TEXT NOT NULL CHECK (kind IN ('late', 'short', 'surplus', 'wrong_token')),
  -- open: a cent or more is undecided. settled: an operator decided. gone: it counts by now, or was lost in a reorg.
  state TEXT NOT NULL CHECK (state IN ('open', 'settled', 'gone')),
  value_par TEXT NOT NULL, -- follows from the session's sums
  settled_par TEXT NOT NULL, -- the part that operators decided about
  currency TEXT NOT NULL, --> Currency
  opened_at_ms INTEGER NOT NULL,
  settled_at_ms INTEGER,
  UNIQUE (session_id, kind)
) STRICT;
CREATE INDEX held_money_by_state ON held_money (state, opened_at_ms);
CREATE INDEX held_money_open ON held_money (state, session_id) WHERE state = 'open';

-- An event in the ledger: double entry, append only.
CREATE TABLE ledger_entries (
  network TEXT NOT NULL, --> NetworkKey
  seq INTEGER NOT NULL, -- rises on its network in the order of commits
  kind TEXT NOT NULL, --> EntryKind
  cause TEXT NOT NULL, -- the transfer or payout; of an adjustment, the network
  occurrence INTEGER NOT NULL CHECK (occurrence >= 0), -- number of earlier ones of the cause, as after a reorg
  at_ms INTEGER NOT NULL,
  store_id TEXT REFERENCES stores (id),
  mode TEXT CHECK (mode IN ('live', 'test')),
  reason TEXT, -- the operator's, for an adjustment
  PRIMARY KEY (network, seq),
  UNIQUE (cause, kind, occurrence)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_entries_of_store ON ledger_entries (store_id, mode, at_ms) WHERE store_id IS NOT NULL;

-- The amount that an entry moves on one account. The postings of one entry add up to zero for each asset.
CREATE TABLE ledger_postings (
  network TEXT NOT NULL, --> NetworkKey
  seq INTEGER NOT NULL,
  account TEXT NOT NULL, --> Account
  subject TEXT NOT NULL, -- the owner of the part of the account: a session's id, or empty
  asset TEXT NOT NULL, --> Asset
  units TEXT NOT NULL CHECK (units NOT IN ('', '0')),
  PRIMARY KEY (network, seq, account, subject, asset),
  FOREIGN KEY (network, seq) REFERENCES ledger_entries (network, seq)
) STRICT, WITHOUT ROWID;

-- ── Events and their deliveries ─────────────────────────────────────────────────────────────────────────────────────────

-- A URL of a store for events, or the origin of single sessions' URLs. A removed row stays, because deliveries refer to it.
CREATE TABLE endpoints (
  id TEXT PRIMARY KEY,
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  url TEXT NOT NULL,
  extended_events TEXT NOT NULL CHECK (json_valid(extended_events)), --> readonly ExtendedEventType[]
  secret TEXT, -- sealed, with its rotation; null: its store's secret signs
  per_session INTEGER NOT NULL CHECK (per_session IN (0, 1)),
  created_at_ms INTEGER NOT NULL,
  disabled_at_ms INTEGER,
  disabled_reason TEXT,
  removed INTEGER NOT NULL CHECK (removed IN (0, 1)),
  failing_since_ms INTEGER, -- start of the time in which no attempt was answered with 2xx
  failures INTEGER NOT NULL, -- events in a row whose first attempt was not answered with 2xx
  gones INTEGER NOT NULL, -- events in a row whose first attempt was answered with 410
  silences INTEGER NOT NULL, -- attempts in a row without any answer
  paused_until_ms INTEGER NOT NULL,
  due_at_ms INTEGER, -- due time of the first of its deliveries; null for none
  -- A door (src/doors) is an endpoint of a dialect. Its secret is the panel's key, and its URL the one that panels call.
  dialect TEXT CHECK (dialect IN ('epay', 'epusdt', 'gmpay', 'bepusdt')), --> DoorDialect
  pid INTEGER UNIQUE, -- the merchant's number at the door
  door TEXT CHECK (json_valid(door)), --> DoorSettings
  CHECK ((dialect IS NULL) = (pid IS NULL)),
  CHECK ((dialect IS NULL) = (door IS NULL))
) STRICT;
CREATE INDEX endpoints_of_store ON endpoints (store_id, mode, per_session) WHERE removed = 0;
CREATE UNIQUE INDEX endpoints_per_session ON endpoints (store_id, mode, url) WHERE per_session = 1 AND removed = 0;
CREATE INDEX endpoints_due ON endpoints ((CASE WHEN silences >= 5 THEN 1 ELSE 0 END), due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE INDEX endpoints_in_trouble ON endpoints (failing_since_ms) WHERE failing_since_ms IS NOT NULL OR disabled_at_ms IS NOT NULL;

-- An order that a panel made through a door. It has one session after another, of which at most one pays it.
CREATE TABLE door_orders (
  id TEXT PRIMARY KEY, -- random; part of the return address, which a payer sees before paying
  endpoint_id TEXT NOT NULL REFERENCES endpoints (id),
  order_no TEXT NOT NULL, -- the panel's
  trade_no TEXT NOT NULL UNIQUE, -- random digits, which nobody but the panel knows before the notice
  session_id TEXT, -- the newest
  paid_session_id TEXT UNIQUE REFERENCES sessions (id), -- the one whose notice is due or sent, set once
  terms TEXT NOT NULL CHECK (json_valid(terms)), --> DoorTerms
  created_at_ms INTEGER NOT NULL,
  UNIQUE (endpoint_id, order_no)
) STRICT;
CREATE INDEX door_orders_by_time ON door_orders (endpoint_id, created_at_ms, id);

-- An event. A store's ids contain its counter, so they rise in the order of commits.
CREATE TABLE events (
  id INTEGER PRIMARY KEY, -- in microseconds, which readers see as nanoseconds
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  session_id TEXT NOT NULL REFERENCES sessions (id),
  type TEXT NOT NULL, --> EventType
  facts TEXT NOT NULL, -- the part of the body, in its exact bytes, that does not follow from the row
  created_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX events_by_session ON events (session_id);
CREATE INDEX events_by_type ON events (store_id, mode, type, id);

-- One event for one endpoint, which may be off.
CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY, -- follows from the second, the event and the endpoint
  event_id INTEGER NOT NULL REFERENCES events (id),
  endpoint_id TEXT NOT NULL REFERENCES endpoints (id),
  state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
  attempts INTEGER NOT NULL CHECK (attempts >= 0), -- of the current schedule, which a resend replaces
  due_at_ms INTEGER,
  lease_until_ms INTEGER, -- set while it is being sent
  lease_holder TEXT, -- the sender who has the lease, or who had it and sent nothing
  last_status INTEGER,
  last_error TEXT,
  CHECK ((state = 'waiting') = (due_at_ms IS NOT NULL)),
  CHECK (lease_until_ms IS NULL OR state = 'waiting')
) STRICT;
CREATE UNIQUE INDEX deliveries_of_event ON deliveries (event_id, endpoint_id);
CREATE INDEX deliveries_failures ON deliveries (event_id) WHERE state = 'failed';
CREATE INDEX deliveries_due ON deliveries (endpoint_id, due_at_ms, event_id) WHERE due_at_ms IS NOT NULL;
CREATE INDEX deliveries_leased ON deliveries (lease_until_ms) WHERE lease_until_ms IS NOT NULL;
CREATE INDEX deliveries_failed ON deliveries (endpoint_id, event_id) WHERE state = 'failed';
-- Deliveries with attempts left whose refusal may have come from a firewall or a deployment.
CREATE INDEX deliveries_refused ON deliveries (endpoint_id, event_id)
  WHERE state = 'failed' AND last_status IN (401, 403, 404, 405, 409, 410) AND attempts < 11;

-- One attempt of a delivery. Rows are append-only, except that the answer is removed by age.
CREATE TABLE attempts (
  id INTEGER PRIMARY KEY, -- rises with time
  delivery_id INTEGER NOT NULL REFERENCES deliveries (id),
  attempt INTEGER NOT NULL,
  started_at_ms INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  status INTEGER,
  error TEXT,
  response_excerpt TEXT
) STRICT;
CREATE INDEX attempts_by_delivery ON attempts (delivery_id);

-- ── Refunds ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

-- A payer's address for refunds on one network. Only the payer can replace it.
CREATE TABLE refund_addresses (
  session_id TEXT NOT NULL REFERENCES sessions (id),
  network TEXT NOT NULL,
  key TEXT NOT NULL,
  mac TEXT,
  PRIMARY KEY (session_id, network)
) STRICT, WITHOUT ROWID;

-- A refund, or with `held_kind` a return of held money, whose receipt number is its id.
CREATE TABLE refunds (
  id TEXT PRIMARY KEY, -- follows from store, mode and refund_id, also after a restore
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  refund_id TEXT NOT NULL, -- the merchant's
  session_id TEXT NOT NULL REFERENCES sessions (id),
  held_kind TEXT CHECK (held_kind IN ('late', 'short', 'surplus', 'wrong_token')),
  body_hash TEXT NOT NULL,
  amount_minor TEXT NOT NULL CHECK (amount_minor NOT IN ('', '0')),
  currency TEXT NOT NULL CHECK (currency IN ('USDT', 'USDC')),
  reason TEXT, --> RefundReason
  description TEXT,
  metadata TEXT CHECK (json_valid(metadata)), --> exact Readonly<Record<string, unknown>>
  requested_by TEXT REFERENCES people (id), -- the person in the dashboard, who cannot approve it; null for the operator or a key
  requested_key TEXT, -- the API key that requested it
  -- The payment, which never changes, and its destination, which is fixed with the first attempt.
  network TEXT NOT NULL,
  units TEXT NOT NULL CHECK (units NOT IN ('', '0')),
  destination TEXT,
  destination_from TEXT CHECK (destination_from IN ('payer', 'claim_link', 'merchant', 'operator', 'sender')),
  mac TEXT,

  claim_hash TEXT UNIQUE,
  claim_until_s INTEGER,

  status TEXT NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed', 'canceled')),
  needs_approval INTEGER NOT NULL CHECK (needs_approval IN (0, 1)),
  approved_at_ms INTEGER,
  approved_destination TEXT, -- the only destination that the approval counts for
  approval TEXT CHECK (json_valid(approval)), --> RefundApproval
  failure_reason TEXT,
  tx TEXT,
  receipt_number TEXT,
  created_at_ms INTEGER NOT NULL,
  processing_at_ms INTEGER,
  processed_at_ms INTEGER,
  canceled_at_ms INTEGER,
  UNIQUE (store_id, mode, refund_id),
  UNIQUE (store_id, receipt_number),
  CHECK ((destination IS NULL) = (mac IS NULL) AND (destination IS NULL) = (destination_from IS NULL)),
  CHECK (status NOT IN ('processing', 'completed') OR destination IS NOT NULL),
  CHECK ((status = 'completed') = (receipt_number IS NOT NULL)),
  CHECK ((status = 'failed') = (failure_reason IS NOT NULL))
) STRICT;
CREATE INDEX refunds_by_session ON refunds (session_id);
-- These two indexes are for the clock: refunds that can start, and claim links that have run out.
CREATE INDEX refunds_ready ON refunds (created_at_ms)
  WHERE status = 'pending' AND destination IS NOT NULL AND (needs_approval = 0 OR approved_destination = destination);
CREATE INDEX refunds_unclaimed ON refunds (claim_until_s) WHERE status = 'pending' AND destination IS NULL;
CREATE INDEX refunds_to_approve ON refunds (store_id, created_at_ms)
  WHERE needs_approval = 1 AND approved_at_ms IS NULL AND status IN ('pending', 'processing');
CREATE INDEX refunds_by_refund_id ON refunds (refund_id);
CREATE INDEX refunds_listed ON refunds (store_id, mode, created_at_ms, id);
CREATE INDEX refunds_listed_by_status ON refunds (store_id, mode, status, created_at_ms, id);
CREATE INDEX refunds_by_transaction ON refunds (store_id, mode, tx) WHERE tx IS NOT NULL;

-- ── Money out ───────────────────────────────────────────────────────────────────────────────────────────────────────────

-- A payment out of our wallets. Its intent never changes, except that a refund can get another payee before its first attempt.
CREATE TABLE payouts (
  id TEXT PRIMARY KEY, -- the id of the refund or return, if it is one
  kind TEXT NOT NULL CHECK (kind IN ('refund', 'return', 'sweep', 'gas')),
  network TEXT NOT NULL,
  intent TEXT NOT NULL CHECK (json_valid(intent)), --> intent
  session_id TEXT REFERENCES sessions (id), -- of a refund or return; null if only the signer's journal knows it
  named_session TEXT, -- the session in the intent of a refund or return
  serves_id TEXT REFERENCES payouts (id) DEFERRABLE, -- the payout that waits for the end of this one, as a sweep for its gas
  -- waiting: this generation has no allotted attempt. sent: it has one, which may be on its way. stuck: a person must look.
  state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'succeeded', 'failed', 'canceled', 'stuck')),
  generation INTEGER NOT NULL CHECK (generation >= 0),
  proof TEXT CHECK (proof IN ('failed', 'dead')), -- the end of the previous generation, for the signer
  wait_code TEXT, -- the reason for which it waits
  wait_message TEXT,
  fault_code TEXT, -- the fault at the engine's last try
  fault_message TEXT,
  not_before_ms INTEGER NOT NULL, -- the end of a refund's cancel window, then the time of the next look
  tx TEXT,
  fee_units TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  settled_at_ms INTEGER,
  CHECK ((generation = 0) = (proof IS NULL)),
  CHECK ((wait_code IS NULL) = (wait_message IS NULL) AND (fault_code IS NULL) = (fault_message IS NULL)),
  CHECK ((state IN ('succeeded', 'failed', 'canceled')) = (settled_at_ms IS NOT NULL)),
  CHECK ((state = 'succeeded') = (tx IS NOT NULL) AND (state = 'succeeded') = (fee_units IS NOT NULL))
) STRICT;
CREATE INDEX payouts_open ON payouts (network, state, not_before_ms) WHERE state IN ('waiting', 'sent');
CREATE INDEX payouts_by_state ON payouts (state, kind, created_at_ms);
CREATE INDEX payouts_by_age ON payouts (created_at_ms, id);
CREATE INDEX payouts_served ON payouts (serves_id) WHERE serves_id IS NOT NULL;
-- Refunds that only the signer's journal knows. They count against the session in their intent.
CREATE INDEX payouts_of_lost_refunds ON payouts (named_session) WHERE named_session IS NOT NULL AND session_id IS NULL;

-- A requested signature. A signed one is never deleted, because the chain may take any of them until one is final.
CREATE TABLE payout_attempts (
  payout_id TEXT NOT NULL REFERENCES payouts (id),
  generation INTEGER NOT NULL CHECK (generation >= 0),
  -- 0, then one more for each replacement with the same nonce. -1: it was learned from the chain, and not requested here.
  attempt INTEGER NOT NULL CHECK (attempt >= -1),
  network TEXT NOT NULL,
  payer TEXT NOT NULL, -- address key of the wallet that pays the fee
  payer_role TEXT NOT NULL CHECK (payer_role IN ('refund', 'gas', 'collection')),
  nonce INTEGER CHECK (nonce >= 0),
  terms TEXT NOT NULL CHECK (json_valid(terms)), --> Attempt['terms']
  fee_units_max TEXT NOT NULL,
  tx TEXT UNIQUE,
  bytes BLOB, -- saved before any node gets them
  signed_at_ms INTEGER,
  sent_at_ms INTEGER, -- the first time that a node got it
  answer_code TEXT, -- the node's last answer
  answer TEXT,
  fee_units TEXT, -- its cost once it is final on the chain, even if it failed
  PRIMARY KEY (payout_id, generation, attempt),
  CHECK ((answer_code IS NULL) = (answer IS NULL)),
  CHECK ((tx IS NULL) = (bytes IS NULL) AND (tx IS NULL) = (signed_at_ms IS NULL)),
  CHECK (tx IS NOT NULL OR (sent_at_ms IS NULL AND fee_units IS NULL))
) STRICT;
-- A nonce serves one generation of one payout. Replacements (attempts from 1 on) use the nonce of attempt 0.
CREATE UNIQUE INDEX attempts_by_nonce ON payout_attempts (network, payer, nonce) WHERE nonce IS NOT NULL AND attempt = 0;
-- An unsigned attempt has the wallet's last nonce, which would otherwise leave a gap if the signer refuses it.
CREATE UNIQUE INDEX attempts_unsigned ON payout_attempts (network, payer) WHERE nonce IS NOT NULL AND tx IS NULL;

-- The nonces of one wallet, without gaps. A nonce is taken with its attempt, and only the last one can be released.
CREATE TABLE lanes (
  network TEXT NOT NULL,
  payer TEXT NOT NULL,
  next_nonce INTEGER NOT NULL CHECK (next_nonce >= 0),
  PRIMARY KEY (network, payer)
) STRICT, WITHOUT ROWID;

-- The payout engine of a network. `reason` keeps it from working. During its settling-in nothing is signed or ended as never
-- paid.
CREATE TABLE payout_engines (
  network TEXT PRIMARY KEY,
  fence INTEGER NOT NULL CHECK (fence >= 0), -- one more at each start, of which the signer serves the highest that it has seen
  journal_id INTEGER NOT NULL CHECK (journal_id >= 0), -- the last entry of the signer's journal in our attempts
  reason TEXT CHECK (json_valid(reason)), --> Reason
  beat_at_ms INTEGER, -- its last heartbeat, from which a gap of two minutes begins a settling-in
  settling_until_ms INTEGER -- the end of its settling-in, by the chain's time; 0: not known yet
) STRICT, WITHOUT ROWID;

-- A freeze of money out. No payout is allotted, signed or broadcast there until an operator has ended all freezes.
CREATE TABLE payout_freezes (
  network TEXT NOT NULL, --> NetworkKey | ''
  code TEXT NOT NULL,
  reason TEXT NOT NULL,
  frozen_by TEXT NOT NULL, -- the operator's user, or the part of the program
  since_ms INTEGER NOT NULL,
  PRIMARY KEY (network, code)
) STRICT;

-- Our own wallets: the treasury, and the wallets that pay, whose outgoing transfers followers read.
CREATE TABLE own_wallets (
  network TEXT NOT NULL,
  seq INTEGER NOT NULL, -- rises on its network in the order of commits, so that a follower that knows the newest knows all
  role TEXT NOT NULL CHECK (role IN ('refund', 'gas', 'treasury')),
  key TEXT NOT NULL,
  PRIMARY KEY (network, seq),
  UNIQUE (network, key, role)
) STRICT, WITHOUT ROWID;

-- A transfer out of these wallets. Once it is final, it is deleted if an attempt of ours explains it.
CREATE TABLE outgoing_transfers (
  id INTEGER PRIMARY KEY, -- from the network
  network TEXT NOT NULL,
  block_hash TEXT NOT NULL,
  block_number INTEGER NOT NULL,
  tx TEXT NOT NULL,
  position INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('refund', 'gas')),
  from_key TEXT NOT NULL,
  to_key TEXT NOT NULL,
  currency TEXT NOT NULL CHECK (currency IN ('USDT', 'USDC')),
  units TEXT NOT NULL CHECK (units NOT IN ('', '0')),
  -- open: not judged yet. foreign: final, and not explained. known: acknowledged by an operator.
  state TEXT NOT NULL CHECK (state IN ('open', 'foreign', 'known')),
  seen_at_ms INTEGER NOT NULL,
  UNIQUE (network, block_hash, tx, position, from_key)
) STRICT;
CREATE INDEX outgoing_by_state ON outgoing_transfers (network, state, block_number);
CREATE INDEX outgoing_by_payee ON outgoing_transfers (network, to_key);

-- Acknowledged transfers that equal a refund, and that a person has declared to be another payment.
CREATE TABLE other_transfers (
  payout_id TEXT NOT NULL REFERENCES payouts (id),
  transfer_id INTEGER NOT NULL REFERENCES outgoing_transfers (id),
  PRIMARY KEY (payout_id, transfer_id)
) STRICT, WITHOUT ROWID;

-- The native coin that the refund and gas wallets of a network should have together since the last comparison.
CREATE TABLE wallet_books (
  network TEXT PRIMARY KEY,
  units TEXT NOT NULL,
  short_since_ms INTEGER, -- start of the time in which they had less
  missing_units TEXT NOT NULL, -- missing for longer and not explained by an operator; not in `units`
  ledger_seq INTEGER NOT NULL CHECK (ledger_seq >= 0) -- the last ledger entry in `units`
) STRICT, WITHOUT ROWID;

-- The part of a sweep's intent that it takes from one address. An address has its receipts less the parts of unfailed sweeps.
CREATE TABLE sweep_parts (
  payout_id TEXT NOT NULL REFERENCES payouts (id),
  network TEXT NOT NULL,
  derivation_index INTEGER NOT NULL CHECK (derivation_index >= 0),
  currency TEXT NOT NULL CHECK (currency IN ('USDT', 'USDC')),
  pool_id INTEGER REFERENCES pools (id), -- null if only the signer's journal knows the sweep
  units TEXT NOT NULL CHECK (units NOT IN ('', '0')),
  PRIMARY KEY (payout_id, derivation_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX sweep_parts_by_owner ON sweep_parts (network, derivation_index);

-- ── Operators ───────────────────────────────────────────────────────────────────────────────────────────────────────────

-- An alarm for operators. With a `key` it lasts until it ends by itself, and a key has at most one open alarm. Without a `key`
-- it reports an event, which a person resolves. Open alarms and the newest 10,000 are kept.
CREATE TABLE alarms (
  id INTEGER PRIMARY KEY, -- from a counter, so that it rises in the order of commits
  at_ms INTEGER NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  network TEXT,
  session_id TEXT,
  key TEXT,
  ended_at_ms INTEGER, -- by itself, or resolved by a person
  acknowledged_at_ms INTEGER, -- the time from which on its notices are not repeated, because a person has seen it
  acknowledged_by TEXT,
  acknowledged_note TEXT
) STRICT;
CREATE UNIQUE INDEX alarms_open ON alarms (key) WHERE key IS NOT NULL AND ended_at_ms IS NULL;

-- A target of notices about alarms, or a dead-man URL, which is called while no open alarm puts money or custody at risk.
CREATE TABLE notice_targets (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL, --> ChannelKind
  name TEXT NOT NULL,
  address TEXT NOT NULL, -- with its secrets; sealed
  severity TEXT NOT NULL, --> Severity
  code TEXT NOT NULL, -- typed by a person to prove that messages arrive; sealed
  created_at_ms INTEGER NOT NULL,
  proved_at_ms INTEGER,
  progress TEXT NOT NULL CHECK (json_valid(progress)) --> NoticeProgress
) STRICT, WITHOUT ROWID;

-- Changes by operators. They are saved in the transaction of the change, and never changed or deleted.
CREATE TABLE audit_log (
  id INTEGER PRIMARY KEY, -- from a counter, in the order of commits
  at_ms INTEGER NOT NULL,
  operator TEXT NOT NULL, -- the user of the operating system
  command TEXT NOT NULL,
  target TEXT NOT NULL, -- an id, or a network's key
  before TEXT CHECK (json_valid(before)), --> AuditedState
  after TEXT CHECK (json_valid(after)), --> AuditedState
  reason TEXT
) STRICT;
CREATE TRIGGER audit_log_is_not_deleted BEFORE DELETE ON audit_log
BEGIN
  SELECT RAISE(ABORT, 'audit_log is append-only');
END;
CREATE TRIGGER audit_log_is_not_changed BEFORE UPDATE ON audit_log
BEGIN
  SELECT RAISE(ABORT, 'audit_log is append-only');
END;
