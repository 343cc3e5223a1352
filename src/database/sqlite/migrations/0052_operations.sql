-- What operators ask the networks' indexers to do, and what came of it.
CREATE TABLE operations (
  id TEXT PRIMARY KEY,
  network TEXT NOT NULL,
  wish TEXT NOT NULL CHECK (json_valid(wish)),
  plan_id TEXT UNIQUE, -- of a run: the plan that was shown
  asked_by TEXT NOT NULL,
  because TEXT,
  asked_at_ms INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('requested', 'running', 'done', 'failed', 'expired')),
  runner TEXT,
  tries INTEGER NOT NULL,
  started_at_ms INTEGER,
  progress TEXT,
  result TEXT CHECK (result IS NULL OR json_valid(result)),
  ended_at_ms INTEGER,
  CHECK ((ended_at_ms IS NULL) = (state IN ('requested', 'running'))),
  CHECK ((result IS NULL) = (state IN ('requested', 'running', 'expired')))
) STRICT;
CREATE INDEX operations_of_network ON operations (network, id);
CREATE INDEX operations_open ON operations (network, id) WHERE ended_at_ms IS NULL;
-- The operator's list of payouts goes on from one of them.
CREATE INDEX payouts_by_age ON payouts (created_at_ms, id);
