-- A notice is of an alarm, or of news: `facts` is what happened (JSON); null where rows beyond the first of a kind are only counted.
CREATE TABLE notices_and_news (
  id INTEGER PRIMARY KEY,
  target_id TEXT NOT NULL REFERENCES notice_targets (id),
  alarm_id INTEGER,
  change TEXT,
  news TEXT,
  facts TEXT,
  count INTEGER NOT NULL DEFAULT 1,
  severity TEXT NOT NULL,
  -- How often it was told.
  times INTEGER NOT NULL DEFAULT 0,
  -- Tries since it became due.
  tries INTEGER NOT NULL DEFAULT 0,
  created_at_ms INTEGER NOT NULL,
  -- Null once nothing more is to be told.
  due_at_ms INTEGER,
  sent_at_ms INTEGER,
  CHECK (iif(news IS NULL, alarm_id IS NOT NULL AND change IS NOT NULL, alarm_id IS NULL AND change IS NULL))
) STRICT;
INSERT INTO notices_and_news (id, target_id, alarm_id, change, severity, times, tries, created_at_ms, due_at_ms, sent_at_ms)
  SELECT id, target_id, alarm_id, change, severity, times, tries, created_at_ms, due_at_ms, sent_at_ms FROM notices;
DROP TABLE notices;
ALTER TABLE notices_and_news RENAME TO notices;
CREATE UNIQUE INDEX notices_of_alarm ON notices (alarm_id, target_id, change) WHERE alarm_id IS NOT NULL;
CREATE INDEX notices_of_news ON notices (target_id, news, id) WHERE news IS NOT NULL;
CREATE INDEX notices_due ON notices (target_id, due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE INDEX notices_sent ON notices (target_id, sent_at_ms) WHERE sent_at_ms IS NOT NULL;

-- Whether a target is told each payment, and how much news of each kind came since its last digest (JSON).
ALTER TABLE notice_targets ADD COLUMN payments INTEGER NOT NULL DEFAULT 0;
ALTER TABLE notice_targets ADD COLUMN tally TEXT NOT NULL DEFAULT '{}';
