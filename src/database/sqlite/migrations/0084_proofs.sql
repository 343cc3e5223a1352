-- What was proved about the installation: that its books add up, that the seed phrase restores it.
CREATE TABLE proofs (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  ok INTEGER NOT NULL,
  by TEXT NOT NULL,
  about TEXT NOT NULL
) STRICT;
CREATE INDEX proofs_newest ON proofs (kind, id);
