-- Due deliveries are found by time, host by host, and never by looking through all that wait.
--
-- A line is what waits for one endpoint about one session; only its first delivery can be sent. A queue is a
-- standing endpoint, or all endpoints of single sessions on one host.

ALTER TABLE endpoints ADD COLUMN host TEXT NOT NULL DEFAULT '';
UPDATE endpoints SET host = lower(substr(url, instr(url, '://') + 3));
UPDATE endpoints SET host = substr(host, 1, instr(host || '/', '/') - 1);
UPDATE endpoints SET host = substr(host, 1, instr(host || '?', '?') - 1);
UPDATE endpoints SET host = substr(host, 1, instr(host || '#', '#') - 1);
-- 410s in a row, and when the first of them came
ALTER TABLE endpoints ADD COLUMN gone_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE endpoints ADD COLUMN gone_since_ms INTEGER;
-- since when nothing was answered with 2xx although it was tried
ALTER TABLE endpoints ADD COLUMN failing_since_ms INTEGER;
-- the newest event that was answered with 2xx
ALTER TABLE endpoints ADD COLUMN answered_event_id TEXT;
-- the last session whose line was resumed after the endpoint was enabled; null when all are
ALTER TABLE endpoints ADD COLUMN resumed_through TEXT;
CREATE INDEX endpoints_resuming ON endpoints (id) WHERE resumed_through IS NOT NULL;

DROP INDEX deliveries_due;
DROP INDEX deliveries_leased;
ALTER TABLE deliveries DROP COLUMN due_at_ms;
ALTER TABLE deliveries DROP COLUMN lease_until_ms;
ALTER TABLE deliveries ADD COLUMN session_id TEXT NOT NULL DEFAULT '';
UPDATE deliveries SET session_id = (SELECT session_id FROM events WHERE events.id = deliveries.event_id);
CREATE INDEX deliveries_untried ON deliveries (endpoint_id, session_id, event_id)
  WHERE state = 'waiting' AND attempts = 0;
CREATE INDEX deliveries_retried ON deliveries (endpoint_id, session_id, next_attempt_at_ms)
  WHERE state = 'waiting' AND attempts > 0;
-- refused in a way that may have been a firewall's or a deployment's
CREATE INDEX deliveries_refused ON deliveries (endpoint_id, event_id)
  WHERE state = 'failed' AND last_status IN (401, 403, 404, 405, 409, 410);

CREATE TABLE delivery_lines (
  endpoint_id TEXT NOT NULL REFERENCES endpoints (id),
  session_id TEXT NOT NULL REFERENCES sessions (id),
  queue TEXT NOT NULL,
  host TEXT NOT NULL,
  -- when its first delivery can be leased; null while the endpoint is disabled, or only a resend is under way
  ready_at_ms INTEGER,
  lease_until_ms INTEGER,
  leased_id TEXT,
  PRIMARY KEY (endpoint_id, session_id),
  CHECK ((lease_until_ms IS NULL) = (leased_id IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_lines_due ON delivery_lines (queue, ready_at_ms);
CREATE INDEX delivery_lines_leased ON delivery_lines (lease_until_ms, queue, host) WHERE lease_until_ms IS NOT NULL;

CREATE TABLE delivery_queues (
  queue TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  -- the least of its lines'
  ready_at_ms INTEGER,
  -- attempts without any answer since the last answer
  silences INTEGER NOT NULL DEFAULT 0,
  is_failing INTEGER GENERATED ALWAYS AS (silences >= 5) VIRTUAL
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_queues_due ON delivery_queues (is_failing, ready_at_ms) WHERE ready_at_ms IS NOT NULL;

INSERT INTO delivery_lines (endpoint_id, session_id, queue, host, ready_at_ms)
  SELECT d.endpoint_id, d.session_id, CASE e.per_session WHEN 1 THEN e.host ELSE e.id END, e.host,
    CASE WHEN e.disabled_at_ms IS NULL THEN min(d.next_attempt_at_ms) END
  FROM deliveries AS d JOIN endpoints AS e ON e.id = d.endpoint_id
  WHERE d.state = 'waiting' AND e.removed = 0
  GROUP BY d.endpoint_id, d.session_id;
INSERT INTO delivery_queues (queue, host, ready_at_ms)
  SELECT queue, min(host), min(ready_at_ms) FROM delivery_lines GROUP BY queue;
