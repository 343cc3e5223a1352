-- The destination that an approval named; NULL without one. A refund that needs an approval is paid to no other address.
ALTER TABLE refunds ADD COLUMN approved_destination TEXT;
-- The API key that asked for a refund; NULL where a person or the operator did.
ALTER TABLE refunds ADD COLUMN requested_key TEXT;
-- When staff first saw the claim link; NULL until then.
ALTER TABLE refunds ADD COLUMN claim_seen_at_ms INTEGER;
-- 1 where staff had seen the link through which the destination was named, so that they may have named it themselves.
ALTER TABLE refunds ADD COLUMN link_seen INTEGER NOT NULL DEFAULT 0 CHECK (link_seen IN (0, 1));
DROP INDEX refunds_ready;
CREATE INDEX refunds_ready ON refunds (created_at_ms)
  WHERE status = 'pending' AND destination IS NOT NULL AND (needs_approval = 0 OR approved_destination = destination);

-- Sessions whose payer link staff have seen, and when they first did.
CREATE TABLE seen_payer_links (
  session_id TEXT PRIMARY KEY REFERENCES sessions (id),
  seen_at_ms INTEGER NOT NULL
) STRICT;
