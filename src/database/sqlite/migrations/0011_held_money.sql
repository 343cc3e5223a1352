-- Confirmed money that counts for nothing until an operator decides about it: at most one row of each kind for a session.
CREATE TABLE held_money (
  id TEXT PRIMARY KEY CHECK (id GLOB 'held_*'),
  session_id TEXT NOT NULL REFERENCES sessions (id),
  kind TEXT NOT NULL CHECK (kind IN ('late', 'short', 'surplus', 'wrong_token')),
  -- settled: an operator decided. gone: it counts by now, or a reorg took it.
  state TEXT NOT NULL CHECK (state IN ('open', 'settled', 'gone')),
  -- At par: what is there, and how much of it operators decided about.
  value_par TEXT NOT NULL,
  settled_par TEXT NOT NULL,
  currency TEXT NOT NULL,
  opened_at_ms INTEGER NOT NULL,
  settled_at_ms INTEGER,
  UNIQUE (session_id, kind)
) STRICT;
CREATE INDEX held_money_by_state ON held_money (state, opened_at_ms);

-- An operator lets every coin count at par, whatever the session's terms accept.
ALTER TABLE sessions ADD COLUMN takes_any_token INTEGER NOT NULL DEFAULT 0 CHECK (takes_any_token IN (0, 1));
