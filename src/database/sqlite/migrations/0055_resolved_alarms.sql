-- When a person said that what an event's alarm reports is dealt with. Alarms that last end by themselves.
ALTER TABLE alarms ADD COLUMN resolved_at_ms INTEGER CHECK (resolved_at_ms IS NULL OR key IS NULL);
