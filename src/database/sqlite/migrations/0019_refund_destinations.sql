-- Who named a refund's destination: the claim link and the operator are told apart from the payment page and the merchant.
-- SQLite cannot change a CHECK, so the table is copied.
CREATE TABLE refunds_copy (
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
  network TEXT NOT NULL,
  units TEXT NOT NULL CHECK (units NOT GLOB '*[^0-9]*' AND units NOT IN ('', '0')),
  destination TEXT,
  destination_from TEXT CHECK (destination_from IN ('payer', 'claim_link', 'merchant', 'operator', 'sender')),
  mac TEXT,
  claim_hash TEXT UNIQUE,
  claim_until_s INTEGER,
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
INSERT INTO refunds_copy (id, store_id, mode, refund_id, session_id, body_hash, amount_minor, currency, reason, description,
    metadata, network, units, destination, destination_from, mac, claim_hash, claim_until_s, status, needs_approval,
    approved_at_ms, approval, failure_reason, tx, receipt_number, created_at_ms, processing_at_ms, processed_at_ms,
    canceled_at_ms)
  SELECT id, store_id, mode, refund_id, session_id, body_hash, amount_minor, currency, reason, description, metadata,
    network, units, destination, destination_from, mac, claim_hash, claim_until_s, status, needs_approval, approved_at_ms,
    approval, failure_reason, tx, receipt_number, created_at_ms, processing_at_ms, processed_at_ms, canceled_at_ms
  FROM refunds;
DROP TABLE refunds;
ALTER TABLE refunds_copy RENAME TO refunds;
CREATE INDEX refunds_by_session ON refunds (session_id);
CREATE INDEX refunds_ready ON refunds (created_at_ms) WHERE status = 'pending' AND destination IS NOT NULL AND (needs_approval = 0 OR approved_at_ms IS NOT NULL);
CREATE INDEX refunds_unclaimed ON refunds (claim_until_s) WHERE status = 'pending' AND destination IS NULL;
CREATE INDEX refunds_by_refund_id ON refunds (refund_id);
CREATE INDEX refunds_by_status ON refunds (status, created_at_ms);

-- What a session may refund before its receipts are final, in minor units.
ALTER TABLE refund_policies ADD COLUMN refund_early_max_minor INTEGER NOT NULL DEFAULT 0 CHECK (refund_early_max_minor >= 0);
