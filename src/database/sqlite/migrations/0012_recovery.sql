-- How operators get a network that stopped going again.

-- Rises whenever an operator moves a network's position: its follower then loads the position again.
ALTER TABLE networks ADD COLUMN recoveries INTEGER NOT NULL DEFAULT 0;

-- Blocks over which a follower goes on without having read them: the block after `to_number` need not be the child of
-- the one before `from_number`. Open: they may hold payments. Closed: they were read later, or before they were pruned.
CREATE TABLE block_gaps (
  id INTEGER PRIMARY KEY,
  network TEXT NOT NULL REFERENCES networks (key),
  from_number INTEGER NOT NULL CHECK (from_number >= 0),
  to_number INTEGER NOT NULL CHECK (to_number >= from_number),
  because TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  closed_at_ms INTEGER
) STRICT;
CREATE INDEX block_gaps_by_network ON block_gaps (network, to_number);
