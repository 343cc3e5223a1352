-- Where money out is frozen: nothing is allotted, signed or broadcast there until an operator thaws it.
CREATE TABLE payout_freezes (
  -- A network's key; empty: every network.
  network TEXT PRIMARY KEY,
  code TEXT NOT NULL,
  reason TEXT NOT NULL,
  -- The operator's user, or what froze it by itself.
  frozen_by TEXT NOT NULL,
  since_ms INTEGER NOT NULL
) STRICT;
