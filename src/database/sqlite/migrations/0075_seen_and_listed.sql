-- When a transfer was first read in a block of ours; null for those from before this version.
ALTER TABLE transfers ADD COLUMN seen_at_ms INTEGER;
-- Whose rates a session's rate was made of; null at par, and from before this version.
ALTER TABLE sessions ADD COLUMN rate_sources TEXT;
-- Lists of payments by what is odd about them, and by the currency of their price, newest first.
CREATE INDEX sessions_over ON sessions (store_id, mode, id) WHERE funded = 'over';
CREATE INDEX sessions_under ON sessions (store_id, mode, id) WHERE funded = 'part';
CREATE INDEX sessions_late ON sessions (store_id, mode, id) WHERE late + paid_late > 0;
CREATE INDEX sessions_by_currency ON sessions (store_id, mode, currency, id);
CREATE INDEX held_money_open ON held_money (session_id) WHERE state = 'open';
