-- How often an alarm was raised lately, and when the last one ended.
CREATE INDEX alarms_of_key ON alarms (key, at_ms) WHERE key IS NOT NULL;
