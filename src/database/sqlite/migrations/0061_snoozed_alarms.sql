-- Until when a person does not want to hear of an alarm, and who that was. A time that has passed says nothing.
ALTER TABLE alarms ADD COLUMN snoozed_until_ms INTEGER;
ALTER TABLE alarms ADD COLUMN snoozed_by TEXT;
