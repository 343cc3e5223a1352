-- Blocks that were skipped and may hold payments out of our own wallets: money out is frozen on the network until they
-- are read or an operator thaws it. Gaps from before this version freeze nothing.
ALTER TABLE block_gaps ADD COLUMN holds_payouts INTEGER NOT NULL DEFAULT 0;
CREATE INDEX block_gaps_holding ON block_gaps (holds_payouts, network) WHERE closed_at_ms IS NULL;
