-- What signs webhooks. The owner is an endpoint, or a store for its one-off URLs and for endpoints without a secret of
-- their own. Encrypted, as in `stores` before.
CREATE TABLE webhook_secrets (
  owner TEXT NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  -- Empty: the program that opens the file next makes one.
  secret TEXT NOT NULL,
  -- Also valid while the secret is being rotated.
  next_secret TEXT,
  rotated_at_ms INTEGER,
  PRIMARY KEY (owner, mode),
  CHECK ((next_secret IS NULL) = (rotated_at_ms IS NULL))
) STRICT;
CREATE INDEX webhook_secrets_empty ON webhook_secrets (owner) WHERE secret = '';

-- The secret that both modes had stays that of live mode.
INSERT INTO webhook_secrets (owner, mode, secret) SELECT id, 'live', webhook_secret FROM stores;
INSERT INTO webhook_secrets (owner, mode, secret) SELECT id, 'test', '' FROM stores;
INSERT INTO webhook_secrets (owner, mode, secret)
  SELECT id, 'test', '' FROM endpoints WHERE mode = 'test' AND per_session = 0 AND removed = 0;
ALTER TABLE stores DROP COLUMN webhook_secret;
