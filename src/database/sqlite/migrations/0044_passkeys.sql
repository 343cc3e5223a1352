-- Passkeys (WebAuthn): a second factor, and a way to sign in by themselves.
CREATE TABLE passkeys (
  -- The credential's id, base64url.
  id TEXT PRIMARY KEY,
  person_id TEXT NOT NULL REFERENCES people (id),
  name TEXT NOT NULL,
  -- A COSE key, base64url.
  public_key TEXT NOT NULL,
  -- Of signatures, as the authenticator counts them; 0 for those that do not count.
  counter INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  used_at_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX passkeys_of_person ON passkeys (person_id, created_at_ms);

-- A session gets another token when the second factor is proved again; what proves its forms stays the same.
ALTER TABLE web_sessions ADD COLUMN form_token TEXT NOT NULL DEFAULT '';
UPDATE web_sessions SET form_token = lower(hex(randomblob(32)));
-- For requests that were on their way when the token changed.
ALTER TABLE web_sessions ADD COLUMN previous_hash TEXT;
ALTER TABLE web_sessions ADD COLUMN previous_until_ms INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX web_sessions_previous ON web_sessions (previous_hash) WHERE previous_hash IS NOT NULL;
