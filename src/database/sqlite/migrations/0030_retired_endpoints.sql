-- Endpoints that single sessions named are retired after some days without an event, and come back with the next one.
ALTER TABLE endpoints ADD COLUMN last_event_at_ms INTEGER;
ALTER TABLE endpoints ADD COLUMN retired_at_ms INTEGER;
UPDATE endpoints SET last_event_at_ms = created_at_ms WHERE per_session = 1;
UPDATE endpoints SET last_event_at_ms = last.at_ms
  FROM (SELECT endpoint_id, max(created_at_ms) AS at_ms FROM deliveries GROUP BY endpoint_id) AS last
  WHERE last.endpoint_id = endpoints.id AND per_session = 1;
CREATE INDEX endpoints_idle ON endpoints (last_event_at_ms)
  WHERE per_session = 1 AND removed = 0 AND retired_at_ms IS NULL;
-- Without queues in which nothing can be sent.
DROP INDEX delivery_queues_unanswered;
CREATE INDEX delivery_queues_unanswered ON delivery_queues (unanswered_since_ms)
  WHERE unanswered_since_ms IS NOT NULL AND ready_at_ms IS NOT NULL;
