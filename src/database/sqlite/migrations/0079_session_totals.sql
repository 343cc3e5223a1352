-- How many sessions a store created in a quarter of an hour (since 1970-01-01), and what became of them: paid, or ended
-- without a payment. What is left is pending. Archived sessions stay counted.
CREATE TABLE session_totals (
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL,
  quarter INTEGER NOT NULL,
  created INTEGER NOT NULL,
  paid INTEGER NOT NULL,
  unpaid INTEGER NOT NULL,
  PRIMARY KEY (store_id, mode, quarter)
) STRICT, WITHOUT ROWID;

-- An archived session ended without a payment. Its time is what its id begins with: ten characters of five bits each.
INSERT INTO session_totals
  WITH places (place) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)),
  created (store_id, mode, at_ms, status) AS (
    SELECT store_id, mode, created_at_ms, status FROM sessions
    UNION ALL
    SELECT store_id, mode,
      (SELECT sum((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 4 + place, 1)) - 1) << (45 - 5 * place)) FROM places),
      'expired' FROM archived_sessions
  )
  SELECT store_id, mode, at_ms / 900000, count(*), sum(status = 'paid'), sum(status IN ('expired', 'canceled', 'failed'))
  FROM created GROUP BY store_id, mode, at_ms / 900000;

-- Deliveries that failed for good, by endpoint, newest first.
CREATE INDEX deliveries_failed ON deliveries (endpoint_id, event_id) WHERE state = 'failed';
