-- Whether an operator has ordered a sweep. Of those from before this version nobody knows: they wait if they are too dear.
ALTER TABLE payouts ADD COLUMN is_ordered INTEGER NOT NULL DEFAULT 0 CHECK (is_ordered IN (0, 1));
