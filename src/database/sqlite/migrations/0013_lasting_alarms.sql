-- An alarm with a key lasts: it is open until what it reports is over. A key has at most one open alarm.
ALTER TABLE alarms ADD COLUMN key TEXT;
ALTER TABLE alarms ADD COLUMN ended_at_ms INTEGER CHECK (ended_at_ms IS NULL OR key IS NOT NULL);
CREATE UNIQUE INDEX alarms_open ON alarms (key) WHERE key IS NOT NULL AND ended_at_ms IS NULL;
