-- Who may use the dashboard. Nothing here opens the API, and no API key opens the dashboard.
CREATE TABLE people (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL COLLATE NOCASE,
  -- scrypt, as a PHC string; NULL until the one-time link is used.
  password TEXT,
  -- Encrypted.
  totp_secret TEXT,
  -- The newest 30-second step whose code was used: an earlier or equal one is refused.
  totp_step INTEGER NOT NULL,
  -- Attempts to sign in since the last that succeeded.
  failures INTEGER NOT NULL,
  locked_until_ms INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  removed_at_ms INTEGER,
  CHECK ((password IS NULL) = (totp_secret IS NULL))
) STRICT;
CREATE UNIQUE INDEX people_by_name ON people (name) WHERE removed_at_ms IS NULL;

CREATE TABLE memberships (
  person_id TEXT NOT NULL REFERENCES people (id),
  -- NULL: the installation.
  store_id TEXT REFERENCES stores (id),
  role TEXT NOT NULL CHECK (role IN ('owner', 'developer', 'accountant', 'support', 'operator')),
  CHECK ((role = 'operator') = (store_id IS NULL))
) STRICT;
CREATE UNIQUE INDEX memberships_of_person ON memberships (person_id, ifnull(store_id, ''));

-- Each works once. All hashes are SHA-256.
CREATE TABLE recovery_codes (
  person_id TEXT NOT NULL REFERENCES people (id),
  hash TEXT NOT NULL,
  PRIMARY KEY (person_id, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE sign_in_links (
  hash TEXT PRIMARY KEY,
  person_id TEXT NOT NULL UNIQUE REFERENCES people (id),
  expires_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE web_sessions (
  hash TEXT PRIMARY KEY,
  person_id TEXT NOT NULL REFERENCES people (id),
  device TEXT NOT NULL,
  address TEXT NOT NULL,
  started_at_ms INTEGER NOT NULL,
  seen_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX web_sessions_of_person ON web_sessions (person_id, started_at_ms);

-- For lists of payments, newest first: ids sort by time.
CREATE INDEX sessions_listed ON sessions (store_id, mode, id);
CREATE INDEX sessions_by_status ON sessions (store_id, mode, status, id);
CREATE INDEX transfers_of_transaction ON transfers (tx);
