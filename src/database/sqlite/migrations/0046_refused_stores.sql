-- Stores that the operator has refused; they stay as they are, and can be approved later.
ALTER TABLE stores ADD COLUMN refused_at_ms INTEGER;
ALTER TABLE stores ADD COLUMN refused_because TEXT CHECK ((refused_because IS NULL) = (refused_at_ms IS NULL));
CREATE INDEX stores_waiting ON stores (created_at_ms, id) WHERE status = 'pending' AND refused_at_ms IS NULL;
CREATE INDEX stores_by_age ON stores (created_at_ms, id);
