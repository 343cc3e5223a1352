-- Who is informed about alarms, and what is still to be told. A notice is written in the transaction of the alarm's change.
CREATE TABLE notice_targets (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  -- Where it goes and with what secrets; sealed with the installation's secret key.
  address TEXT NOT NULL,
  severities TEXT NOT NULL,
  store_id TEXT REFERENCES stores (id),
  shows_details INTEGER NOT NULL,
  quiet TEXT,
  digest_minute INTEGER,
  zone TEXT NOT NULL,
  -- What a person types to prove that messages arrive; sealed too.
  code TEXT NOT NULL,
  wrong_codes INTEGER NOT NULL DEFAULT 0,
  created_at_ms INTEGER NOT NULL,
  proved_at_ms INTEGER,
  failing_since_ms INTEGER,
  last_error TEXT,
  last_sent_at_ms INTEGER,
  digest_at_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE notices (
  id INTEGER PRIMARY KEY,
  target_id TEXT NOT NULL REFERENCES notice_targets (id),
  alarm_id INTEGER NOT NULL,
  change TEXT NOT NULL,
  severity TEXT NOT NULL,
  -- How often it was told.
  times INTEGER NOT NULL DEFAULT 0,
  -- Tries since it became due.
  tries INTEGER NOT NULL DEFAULT 0,
  created_at_ms INTEGER NOT NULL,
  -- Null once nothing more is to be told.
  due_at_ms INTEGER,
  sent_at_ms INTEGER
) STRICT;
CREATE UNIQUE INDEX notices_of_alarm ON notices (alarm_id, target_id, change);
CREATE INDEX notices_due ON notices (target_id, due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE INDEX notices_sent ON notices (target_id, sent_at_ms) WHERE sent_at_ms IS NOT NULL;
