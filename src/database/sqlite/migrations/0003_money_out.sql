-- Money out: refunds, payouts and their attempts, sequence numbers, the double-entry journal. The meaning of every table stands in
-- src/store/README.md. Names end in their unit; money is decimal TEXT; nothing cascades.

-- ── Refund policy of a store ────────────────────────────────────────────────────────────────────────────────────────
-- What an operator has set for a store; without a row the program's own defaults hold.
CREATE TABLE refund_policies (
  store_id TEXT PRIMARY KEY REFERENCES stores (id),
  refund_window_s INTEGER NOT NULL CHECK (refund_window_s >= 0),
  refund_daily_minor INTEGER NOT NULL CHECK (refund_daily_minor >= 0),
  -- Refunds up to this much need no approval.
  refund_auto_minor INTEGER NOT NULL CHECK (refund_auto_minor >= 0),
  refund_cancel_window_s INTEGER NOT NULL CHECK (refund_cancel_window_s >= 0),
  refund_claim_s INTEGER NOT NULL CHECK (refund_claim_s > 0),
  refund_to_sender INTEGER NOT NULL CHECK (refund_to_sender IN (0, 1))
) STRICT, WITHOUT ROWID;

-- ── Refunds ─────────────────────────────────────────────────────────────────────────────────────────────────────────

-- Left by a payer at checkout, before anything is to be refunded.
CREATE TABLE refund_addresses (
  session_id TEXT NOT NULL REFERENCES sessions (id),
  network TEXT NOT NULL,
  key TEXT NOT NULL,
  set_at_ms INTEGER NOT NULL,
  PRIMARY KEY (session_id, network)
) STRICT, WITHOUT ROWID;

CREATE TABLE refunds (
  -- Follows from store, mode and refund_id: a database that was put back to an earlier state gives the same one again.
  id TEXT PRIMARY KEY,
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  refund_id TEXT NOT NULL,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  body_hash TEXT NOT NULL,
  amount_minor TEXT NOT NULL CHECK (amount_minor NOT GLOB '*[^0-9]*' AND amount_minor NOT IN ('', '0')),
  currency TEXT NOT NULL CHECK (currency IN ('USDT', 'USDC')),
  reason TEXT,
  description TEXT,
  metadata TEXT CHECK (metadata IS NULL OR json_valid(metadata)),
  -- What is paid, and where
  network TEXT NOT NULL,
  units TEXT NOT NULL CHECK (units NOT GLOB '*[^0-9]*' AND units NOT IN ('', '0')),
  destination TEXT,
  destination_from TEXT CHECK (destination_from IN ('payer', 'merchant', 'sender')),
  mac TEXT,
  claim_hash TEXT UNIQUE,
  claim_until_s INTEGER,
  -- The life
  status TEXT NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed', 'canceled')),
  needs_approval INTEGER NOT NULL CHECK (needs_approval IN (0, 1)),
  approved_at_ms INTEGER,
  approval TEXT CHECK (approval IS NULL OR json_valid(approval)),
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
-- What a tick of the clock looks at: refunds that can start, and claim links that have run out.
CREATE INDEX refunds_ready ON refunds (created_at_ms) WHERE status = 'pending' AND destination IS NOT NULL AND (needs_approval = 0 OR approved_at_ms IS NOT NULL);
CREATE INDEX refunds_unclaimed ON refunds (claim_until_s) WHERE status = 'pending' AND destination IS NULL;
CREATE INDEX refunds_by_refund_id ON refunds (refund_id);
CREATE INDEX refunds_by_status ON refunds (status, created_at_ms);

-- What a store refunds in a UTC day (days since 1970-01-01), failed and canceled ones taken out again.
CREATE TABLE refund_days (
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  day INTEGER NOT NULL,
  amount_minor TEXT NOT NULL,
  PRIMARY KEY (store_id, mode, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE receipt_numbers (
  store_id TEXT PRIMARY KEY REFERENCES stores (id),
  next INTEGER NOT NULL CHECK (next > 0)
) STRICT, WITHOUT ROWID;

-- ── Payouts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE payouts (
  -- A refund's payout has the refund's id.
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('refund', 'sweep', 'gas')),
  network TEXT NOT NULL,
  intent TEXT NOT NULL CHECK (json_valid(intent)),
  -- Whose received money a refund gives back. Null for what is not a refund, and for one that only the signer's journal knows.
  session_id TEXT REFERENCES sessions (id),
  -- The payout that this one makes possible (gas for a sweep): it waits until this one has ended.
  serves_id TEXT REFERENCES payouts (id),
  -- waiting: no attempt of this generation is allotted. sent: one is, and is on its way to the chain. stuck: a person must look.
  state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'succeeded', 'failed', 'canceled', 'stuck')),
  generation INTEGER NOT NULL DEFAULT 0 CHECK (generation >= 0),
  -- How the generation before ended; what the signer is told before it signs anew.
  proof TEXT CHECK (proof IN ('failed', 'dead')),
  -- Why nothing moves, where something keeps it from moving.
  wait_code TEXT,
  wait_message TEXT,
  -- Nothing is done before: the cancel window of a refund, and then the time of the next look at one that waits.
  not_before_ms INTEGER NOT NULL,
  tx TEXT,
  fee_units TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  settled_at_ms INTEGER,
  CHECK ((generation = 0) = (proof IS NULL)),
  CHECK ((wait_code IS NULL) = (wait_message IS NULL)),
  CHECK ((state IN ('succeeded', 'failed', 'canceled')) = (settled_at_ms IS NOT NULL)),
  CHECK ((state = 'succeeded') = (tx IS NOT NULL) AND (state = 'succeeded') = (fee_units IS NOT NULL))
) STRICT;
CREATE INDEX payouts_open ON payouts (network, state, not_before_ms) WHERE state IN ('waiting', 'sent');
CREATE INDEX payouts_by_state ON payouts (state, kind, created_at_ms);
CREATE INDEX payouts_served ON payouts (serves_id) WHERE serves_id IS NOT NULL;

-- Every attempt that may ever have been signed, for ever: the chain may take any of them until a final one is there.
CREATE TABLE payout_attempts (
  payout_id TEXT NOT NULL REFERENCES payouts (id),
  generation INTEGER NOT NULL CHECK (generation >= 0),
  -- 0, and then one more for each replacement that uses the same number.
  attempt INTEGER NOT NULL CHECK (attempt >= 0),
  network TEXT NOT NULL,
  -- Address key of the wallet that pays the fee, and whose it is.
  payer TEXT NOT NULL,
  payer_role TEXT NOT NULL CHECK (payer_role IN ('refund', 'gas', 'collection')),
  nonce INTEGER CHECK (nonce >= 0),
  terms TEXT NOT NULL CHECK (json_valid(terms)),
  -- What it may cost at most by its terms.
  fee_units_max TEXT NOT NULL CHECK (fee_units_max NOT GLOB '*[^0-9]*' AND fee_units_max <> ''),
  tx TEXT UNIQUE,
  bytes BLOB,
  allotted_at_ms INTEGER NOT NULL,
  signed_at_ms INTEGER,
  -- When it was handed to a node first, and what the node said last.
  sent_at_ms INTEGER,
  answer TEXT,
  -- What it did cost: set once it is final on the chain, whether it moved the money or not.
  fee_units TEXT CHECK (fee_units NOT GLOB '*[^0-9]*' AND fee_units <> ''),
  PRIMARY KEY (payout_id, generation, attempt),
  CHECK ((tx IS NULL) = (bytes IS NULL) AND (tx IS NULL) = (signed_at_ms IS NULL)),
  CHECK (sent_at_ms IS NULL OR tx IS NOT NULL),
  CHECK (fee_units IS NULL OR tx IS NOT NULL)
) STRICT;
-- One sequence number serves one generation of one payout. Replacements (attempt 1 and on) take over the number of attempt 0.
CREATE UNIQUE INDEX attempts_by_nonce ON payout_attempts (network, payer, nonce) WHERE nonce IS NOT NULL AND attempt = 0;
-- A number whose attempt may yet be refused by the signer must be the wallet's last, or it would leave a gap.
CREATE UNIQUE INDEX attempts_unsigned ON payout_attempts (network, payer) WHERE nonce IS NOT NULL AND tx IS NULL;

-- The sequence numbers of a wallet.
CREATE TABLE lanes (
  network TEXT NOT NULL,
  payer TEXT NOT NULL,
  next_nonce INTEGER NOT NULL CHECK (next_nonce >= 0),
  halted_code TEXT,
  halted_message TEXT,
  PRIMARY KEY (network, payer),
  CHECK ((halted_code IS NULL) = (halted_message IS NULL))
) STRICT, WITHOUT ROWID;

-- The payout engine of each network.
CREATE TABLE payout_engines (
  network TEXT PRIMARY KEY,
  -- Its turn: one more at each start, 0 before the first; the signer serves only the highest that it has seen.
  fence INTEGER NOT NULL CHECK (fence >= 0),
  -- Through this id, the entries of the signer's journal are attempts here.
  journal_id INTEGER NOT NULL CHECK (journal_id >= 0),
  -- Why it does nothing, where something keeps it from working.
  reason_code TEXT,
  reason_message TEXT,
  updated_at_ms INTEGER NOT NULL,
  CHECK ((reason_code IS NULL) = (reason_message IS NULL))
) STRICT, WITHOUT ROWID;

-- What the signer's own wallets hold, as the engine read it last.
CREATE TABLE wallet_balances (
  network TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('refund', 'gas')),
  key TEXT NOT NULL,
  -- By asset: a stablecoin or 'native', to base units as text.
  units TEXT NOT NULL CHECK (json_valid(units)),
  -- Assets of which more is needed.
  low TEXT NOT NULL CHECK (json_valid(low)),
  read_at_ms INTEGER NOT NULL,
  PRIMARY KEY (network, role)
) STRICT, WITHOUT ROWID;

-- ── The journal ─────────────────────────────────────────────────────────────────────────────────────────────────────

-- Double entry, append only: the postings of one entry add up to zero for each network and asset.
CREATE TABLE ledger_entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  -- The transfer or payout that it tells of.
  cause TEXT NOT NULL,
  -- How often this has happened to the cause before: a reorg takes a payment back and gives it again, a payout has generations.
  turn INTEGER NOT NULL CHECK (turn >= 0),
  at_ms INTEGER NOT NULL,
  UNIQUE (cause, kind, turn)
) STRICT;

CREATE TABLE ledger_postings (
  entry_id INTEGER NOT NULL REFERENCES ledger_entries (id),
  account TEXT NOT NULL,
  -- Whose part of the account: a session's id, or empty.
  subject TEXT NOT NULL,
  network TEXT NOT NULL,
  -- A stablecoin, or 'native'.
  asset TEXT NOT NULL,
  units TEXT NOT NULL CHECK (units NOT GLOB '*[^0-9-]*' AND units NOT IN ('', '0')),
  PRIMARY KEY (entry_id, account, subject, network, asset)
) STRICT, WITHOUT ROWID;
CREATE INDEX postings_by_subject ON ledger_postings (subject, account) WHERE subject <> '';

-- Payments that were confirmed before there was a journal. Money that belongs to no session is unclaimed.
INSERT INTO ledger_entries (kind, cause, turn, at_ms)
SELECT 'payment', CAST(id AS TEXT), 0, first_confirmed_at_ms FROM transfers WHERE confirmed = 1 ORDER BY id;
INSERT INTO ledger_postings (entry_id, account, subject, network, asset, units)
SELECT e.id, 'collected', '', t.network, t.currency, t.units
FROM ledger_entries AS e JOIN transfers AS t ON t.id = CAST(e.cause AS INTEGER);
INSERT INTO ledger_postings (entry_id, account, subject, network, asset, units)
SELECT e.id, iif(s.id IS NULL, 'unclaimed', 'received'), coalesce(s.id, ''), t.network, t.currency, '-' || t.units
FROM ledger_entries AS e
JOIN transfers AS t ON t.id = CAST(e.cause AS INTEGER)
JOIN blocks AS b ON b.id = t.block_id
JOIN addresses AS a ON a.id = t.address_id
-- As in core/session: what came well before its session is not the session's.
LEFT JOIN sessions AS s ON s.id = a.session_id AND b.time_s >= s.created_at_ms / 1000 - 600;
