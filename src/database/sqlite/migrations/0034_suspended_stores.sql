-- Stores whose keys may create neither sessions nor refunds for a while.
ALTER TABLE stores ADD COLUMN suspended_at_ms INTEGER;
ALTER TABLE stores ADD COLUMN suspended_because TEXT CHECK ((suspended_because IS NULL) = (suspended_at_ms IS NULL));
CREATE INDEX stores_suspended ON stores (id) WHERE suspended_at_ms IS NOT NULL;
