-- What whoever acknowledged an alarm noted for the others.
ALTER TABLE alarms ADD COLUMN acknowledged_note TEXT;
