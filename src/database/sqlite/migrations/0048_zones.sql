-- Days are a store's own: its zone, and that of a person who wants another for looking.
ALTER TABLE stores ADD COLUMN zone TEXT NOT NULL DEFAULT 'UTC';
ALTER TABLE people ADD COLUMN zone TEXT;

-- What the ledger booked for a store's sessions in a quarter of an hour (since 1970-01-01): all zones' days begin with one.
CREATE TABLE quarter_totals (
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL,
  quarter INTEGER NOT NULL,
  network TEXT NOT NULL,
  currency TEXT NOT NULL,
  credits INTEGER NOT NULL,
  credited_par TEXT NOT NULL,
  reversals INTEGER NOT NULL,
  reversed_par TEXT NOT NULL,
  PRIMARY KEY (store_id, mode, quarter, network, currency)
) STRICT, WITHOUT ROWID;

-- Filled from the ledger. Integers of SQLite are too small for sums of par values (18 decimals), so each value is
-- cut into eight limbs of 12 digits, which are added on their own and then carried over.
CREATE TABLE booked AS
  SELECT s.store_id, s.mode, e.at_ms / 900000 AS quarter, p.network, p.asset AS currency,
    iif(e.kind = 'payment', 1, 0) AS is_credit,
    substr(printf('%096d', 0) || ltrim(p.units, '-') || substr('000000000000000000', 1, 18 - t.decimals), -96) AS par
  FROM ledger_entries AS e
  JOIN ledger_postings AS p ON p.entry_id = e.id AND p.account = 'received'
  JOIN transfers AS t ON t.id = CAST(e.cause AS INTEGER)
  JOIN sessions AS s ON s.id = p.subject
  WHERE e.kind IN ('payment', 'payment_reversed');

CREATE TABLE limbs AS
  SELECT store_id, mode, quarter, network, currency, is_credit, count(*) AS transfers,
    sum(CAST(substr(par, 85, 12) AS INTEGER)) AS a0, sum(CAST(substr(par, 73, 12) AS INTEGER)) AS a1,
    sum(CAST(substr(par, 61, 12) AS INTEGER)) AS a2, sum(CAST(substr(par, 49, 12) AS INTEGER)) AS a3,
    sum(CAST(substr(par, 37, 12) AS INTEGER)) AS a4, sum(CAST(substr(par, 25, 12) AS INTEGER)) AS a5,
    sum(CAST(substr(par, 13, 12) AS INTEGER)) AS a6, sum(CAST(substr(par, 1, 12) AS INTEGER)) AS a7
  FROM booked GROUP BY store_id, mode, quarter, network, currency, is_credit;

CREATE TABLE sums AS
  WITH RECURSIVE carried (id, place, amount, digits) AS (
    SELECT rowid, 0, a0, '' FROM limbs
    UNION ALL
    SELECT c.id, c.place + 1,
      c.amount / 1000000000000 + CASE c.place
        WHEN 0 THEN a1 WHEN 1 THEN a2 WHEN 2 THEN a3 WHEN 3 THEN a4 WHEN 4 THEN a5 WHEN 5 THEN a6 WHEN 6 THEN a7 ELSE 0 END,
      printf('%012d', c.amount % 1000000000000) || c.digits
    FROM carried AS c JOIN limbs AS l ON l.rowid = c.id WHERE c.place < 8
  )
  SELECT l.store_id, l.mode, l.quarter, l.network, l.currency, l.is_credit, l.transfers,
    coalesce(nullif(ltrim(c.digits, '0'), ''), '0') AS par
  FROM carried AS c JOIN limbs AS l ON l.rowid = c.id WHERE c.place = 8;

INSERT INTO quarter_totals
  SELECT store_id, mode, quarter, network, currency,
    sum(iif(is_credit, transfers, 0)), coalesce(max(iif(is_credit, par, NULL)), '0'),
    sum(iif(is_credit, 0, transfers)), coalesce(max(iif(is_credit, NULL, par)), '0')
  FROM sums GROUP BY store_id, mode, quarter, network, currency;

DROP TABLE sums;
DROP TABLE limbs;
DROP TABLE booked;

DROP TABLE day_totals;
