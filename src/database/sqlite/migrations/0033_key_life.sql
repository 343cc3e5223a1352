-- API keys that expire, that only work from some addresses, and that show when they were last used.
ALTER TABLE keys ADD COLUMN sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(sources));
ALTER TABLE keys ADD COLUMN expires_at_ms INTEGER;
ALTER TABLE keys ADD COLUMN last_used_at_ms INTEGER;
ALTER TABLE keys ADD COLUMN last_used_from TEXT;
CREATE INDEX keys_expiring ON keys (expires_at_ms) WHERE expires_at_ms IS NOT NULL AND revoked_at_ms IS NULL;
