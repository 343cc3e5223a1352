-- Payouts by when they ended, for the operator's report.
CREATE INDEX payouts_settled ON payouts (settled_at_ms, id) WHERE settled_at_ms IS NOT NULL;
