-- JSON: for how many seconds after the deadline a block of each network counts as in time. Older sessions have none.
ALTER TABLE sessions ADD COLUMN inclusion_grace_s TEXT NOT NULL DEFAULT '{}';
