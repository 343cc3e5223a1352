-- Who made an API key; null for those of before.
ALTER TABLE keys ADD COLUMN created_by TEXT;
