-- The person who asked for a refund in the dashboard; NULL for the API and for older ones. Nobody approves their own.
ALTER TABLE refunds ADD COLUMN requested_by TEXT REFERENCES people (id);

-- For lists of refunds, newest first.
CREATE INDEX refunds_listed ON refunds (store_id, mode, created_at_ms, id);
CREATE INDEX refunds_listed_by_status ON refunds (store_id, mode, status, created_at_ms, id);
