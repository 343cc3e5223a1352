-- Transactions that payers ask after, and what a store says about its payment page.

CREATE TABLE look_ups (
  id INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  network TEXT NOT NULL,
  family TEXT NOT NULL,
  tx TEXT NOT NULL,
  asked_at_ms INTEGER NOT NULL,
  next_look_at_ms INTEGER, -- null: the answer stands
  finding TEXT CHECK (finding IN ('unknown', 'waiting', 'failed', 'kept', 'unread', 'missed', 'wrong_token',
    'wrong_network', 'other_order', 'elsewhere')), -- null: nobody has looked yet
  UNIQUE (session_id, tx, network),
  CHECK (finding IS NOT NULL OR next_look_at_ms IS NOT NULL)
) STRICT;
CREATE INDEX look_ups_due ON look_ups (network, next_look_at_ms) WHERE next_look_at_ms IS NOT NULL;
CREATE INDEX look_ups_by_age ON look_ups (asked_at_ms);

CREATE TABLE page_settings (
  store_id TEXT PRIMARY KEY REFERENCES stores (id),
  accent TEXT CHECK (accent GLOB '#[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]'),
  embed_origins TEXT NOT NULL CHECK (json_valid(embed_origins)),
  logo BLOB,
  logo_type TEXT CHECK (logo_type IN ('png', 'svg')),
  logo_hash TEXT, -- SHA-256, hex
  CHECK ((logo IS NULL) = (logo_type IS NULL) AND (logo IS NULL) = (logo_hash IS NULL))
) STRICT;
