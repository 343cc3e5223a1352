-- The last gap in which this database was not used, by when it began, and how many addresses may have been given out in
-- it, which were retired: a start that fails and is repeated retires only what the longer gap adds.
ALTER TABLE pools ADD COLUMN gap_since_ms INTEGER;
ALTER TABLE pools ADD COLUMN gap_given INTEGER NOT NULL DEFAULT 0;
