-- Somebody has said that they are looking at it: it is open as before, and nobody is told again.
ALTER TABLE alarms ADD COLUMN acknowledged_at_ms INTEGER;
ALTER TABLE alarms ADD COLUMN acknowledged_by TEXT;
