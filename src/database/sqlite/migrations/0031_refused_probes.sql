-- What an endpoint refused is tried again by itself, one delivery at a time, also if nothing new happens.
-- when the next one is, and how many there were since the last success
ALTER TABLE endpoints ADD COLUMN probe_at_ms INTEGER;
ALTER TABLE endpoints ADD COLUMN probes INTEGER NOT NULL DEFAULT 0;
CREATE INDEX endpoints_probing ON endpoints (probe_at_ms) WHERE probe_at_ms IS NOT NULL;
UPDATE endpoints SET probe_at_ms = unixepoch() * 1000 WHERE removed = 0 AND id IN (
  SELECT endpoint_id FROM deliveries INDEXED BY deliveries_refused
  WHERE state = 'failed' AND last_status IN (401, 403, 404, 405, 409, 410) AND attempts < 11);
