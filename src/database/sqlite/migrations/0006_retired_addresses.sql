-- Addresses below this index may have been given out by a database that was lost: watched, never given out again.
ALTER TABLE pools ADD COLUMN retired_through INTEGER NOT NULL DEFAULT 0 CHECK (retired_through >= 0);
