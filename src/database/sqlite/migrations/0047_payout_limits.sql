-- Limits on what leaves for refunds and returns. Null: no limit.
CREATE TABLE payout_limits (
  -- `store:` or `network:`, and its id or key.
  scope TEXT PRIMARY KEY,
  hour_minor TEXT,
  day_minor TEXT,
  hour_count INTEGER,
  day_count INTEGER,
  -- When an alarm last said that payouts wait for it.
  alarmed_at_ms INTEGER
) STRICT, WITHOUT ROWID;

-- What each payout added to the sums below: once, with its first attempt.
CREATE TABLE payout_spends (
  payout_id TEXT PRIMARY KEY,
  network TEXT NOT NULL,
  -- Null: of no store's limit.
  store_id TEXT,
  amount_minor TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The same, added up in steps of five minutes, by network and by store and mode.
CREATE TABLE payout_spend_steps (
  scope TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  amount_minor TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (scope, at_ms)
) STRICT, WITHOUT ROWID;
