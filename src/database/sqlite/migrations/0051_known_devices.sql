-- Browsers in which somebody has signed in: wrong attempts elsewhere do not make them wait.
CREATE TABLE known_devices (
  person_id TEXT NOT NULL REFERENCES people (id),
  -- SHA-256 of a token in a cookie.
  hash TEXT NOT NULL,
  used_at_ms INTEGER NOT NULL,
  -- Attempts in it since the last that succeeded.
  failures INTEGER NOT NULL,
  locked_until_ms INTEGER NOT NULL,
  PRIMARY KEY (person_id, hash)
) STRICT, WITHOUT ROWID;
ALTER TABLE web_sessions ADD COLUMN device_hash TEXT;
